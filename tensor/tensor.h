// tensor/tensor.h: defines Tensor, a view of an array (pointer, shape, type, device) that does not own memory.
//
// Tensors are row-major. A matrix may be a column slice of a wider matrix; its row_stride then exceeds its number of
// columns. Tensors of other ranks are contiguous. A Tensor is trivially copyable, so pass it by value or const
// reference, and capture it freely.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tensor/dtype.h"

namespace weft {

enum class Device : uint8_t { cpu, cuda };

class Shape {
 public:
  static constexpr int kMaxRank = 4;
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<int64_t> dims) {
    assert(dims.size() <= kMaxRank);
    for (int64_t d : dims) dims_[rank_++] = d;
  }
  constexpr int rank() const { return rank_; }
  constexpr int64_t operator[](int i) const { return dims_[i]; }
  constexpr int64_t& operator[](int i) { return dims_[i]; }
  constexpr int64_t numel() const {
    int64_t n = rank_ == 0 ? 0 : 1;
    for (int i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }
  constexpr Shape appended(int64_t dim) const {
    assert(rank_ < kMaxRank);
    Shape s = *this;
    s.dims_[s.rank_++] = dim;
    return s;
  }
  constexpr bool operator==(const Shape&) const = default;
  std::string str() const {  // "[3, 8, 64]"
    std::string s = "[";
    for (int i = 0; i < rank_; ++i) s += (i ? ", " : "") + std::to_string(dims_[i]);
    return s + "]";
  }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

struct Tensor {
  void* data = nullptr;
  Shape shape;
  int64_t row_stride = 0;  // elements from one row to the next: the number of columns, or more in a column slice
  DType dtype = DType::f32;
  Device device = Device::cpu;

  Tensor() = default;
  Tensor(void* p, Shape s, DType t = DType::f32, Device dev = Device::cpu)
      : data(p), shape(s), row_stride(s.rank() ? s[s.rank() - 1] : 0), dtype(t), device(dev) {}

  bool empty() const { return shape.rank() == 0; }  // true by default, which means "not given"
  int rank() const { return shape.rank(); }
  int64_t dim(int i) const { return shape[i]; }
  int64_t numel() const { return shape.numel(); }
  int64_t rows() const { return shape[0]; }
  int64_t cols() const { return shape[shape.rank() - 1]; }
  size_t bytes() const { return static_cast<size_t>(numel()) * size_of(dtype); }
  bool contiguous() const { return shape.rank() < 2 || row_stride == cols(); }

  template <typename T>
  T* ptr() const {
    assert(DTypeOf<T>::value == dtype);
    return static_cast<T*>(data);
  }

  Tensor with_shape(Shape s) const {  // the same elements with a different shape
    assert(contiguous() && s.numel() == numel());
    return Tensor(data, s, dtype, device);
  }
  Tensor slice_rows(int64_t begin, int64_t count) const {  // slices the first dimension
    assert(begin >= 0 && begin + count <= shape[0]);
    Tensor t = *this;
    t.shape[0] = count;
    const int64_t per_row = shape.rank() < 2 ? 1 : shape.rank() == 2 ? row_stride : numel() / shape[0];
    t.data = offset(begin * per_row);
    return t;
  }
  Tensor slice_cols(int64_t begin, int64_t count) const {  // slices a matrix
    assert(shape.rank() == 2 && begin >= 0 && begin + count <= shape[1]);
    Tensor t = *this;
    t.shape[1] = count;
    t.data = offset(begin);
    return t;
  }

 private:
  void* offset(int64_t elements) const {  // null stays null: dry runs use no memory
    return data ? static_cast<char*>(data) + elements * static_cast<int64_t>(size_of(dtype)) : nullptr;
  }
};

}  // namespace weft
