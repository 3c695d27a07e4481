// tests/devices/random_arguments.h: random host arguments of an op: tensors of every storage type, alignment
// and stride.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <string_view>
#include <vector>

#include "tensor/error.h"
#include "tensor/half.h"
#include "tensor/memory.h"
#include "tensor/op/op_operands.h"
#include "tensor/op/sorted_ids.h"
#include "tensor/random.h"
#include "tests/support/draw.h"

namespace weft::testing {

// A pure function of the seed.
class RandomArguments : public Draw {
 public:
  RandomArguments(uint64_t seed, DType storage) : Draw(seed, "arguments"), storage(storage) {}
  const DType storage;

  int64_t rows() { return one_of<int64_t>({1, 2, 5, 33, 70}); }
  int64_t cols() { return one_of<int64_t>({8, 17, 31, 64, 100, 256, 520}); }

  // Uniform in (-scale, scale]. A matrix is either contiguous or a column slice whose other columns are NaN;
  // offset and stride may or may not be multiples of 16 bytes.
  Tensor matrix(int64_t rows, int64_t cols) { return matrix(rows, cols, storage); }
  Tensor matrix(int64_t rows, int64_t cols, DType dtype, float scale = 1) {
    if (coin()) return filled(memory({rows, cols}, dtype), scale);
    const int64_t offset = one_of<int64_t>({0, 3, 8}), rest = one_of<int64_t>({0, 5, 8});
    return filled(memory({rows, offset + cols + rest}, dtype).slice_cols(offset, cols), scale);
  }
  Tensor floats(Shape shape, float scale = 1) { return filled(memory(shape, DType::f32), scale); }
  Tensor tensor(Shape shape, DType dtype) { return filled(memory(shape, dtype), 1); }
  Tensor maybe(const Tensor& t) { return coin() ? t : Tensor(); }
  Tensor doubles(double value) {
    const Tensor t = memory({1}, DType::f64);
    *t.ptr<double>() = value;
    return t;
  }
  Tensor ints(const std::vector<int32_t>& values) {
    const Tensor t = memory({static_cast<int64_t>(values.size())}, DType::i32);
    std::copy(values.begin(), values.end(), t.ptr<int32_t>());
    return t;
  }
  Tensor ids(int64_t count, int64_t least, int64_t most) { return ints(integers(count, least, most)); }
  weft::ops::SortedIds sorted_ids(int64_t count, int64_t least, int64_t most) {
    return weft::ops::SortedIds(ints(weft::ops::sort_ids(integers(count, least, most))));
  }
  std::vector<int32_t> integers(int64_t count, int64_t least, int64_t most) {
    std::vector<int32_t> values(static_cast<size_t>(count));
    for (int32_t& value : values) value = static_cast<int32_t>(from(least, most));
    return values;
  }
  Dropout dropout(int64_t row_stride) {
    if (coin()) return {};
    return {.rate = one_of({0.1f, 0.5f}),
            .seed = bits(),
            .purpose = static_cast<uint32_t>(bits()),
            .first = coin() ? static_cast<uint64_t>(from(0, 9)) : (uint64_t{1} << 33) - 5,
            .row_stride = row_stride + from(0, 3),
            .block_stride = from(0, 5000),
            .scalars = scalars()};
  }
  const StepScalars* scalars() {  // of a step after the first; valid as long as these arguments
    const auto past = [&](double beta) { return static_cast<float>(1 - std::pow(beta, from(1, 20))); };
    return &scalars_.emplace_back(StepScalars{.step = static_cast<uint32_t>(from(0, 1000)),
                                              .block = from(0, 3),
                                              .loss_scale = one_of({0.5f, 8.0f}),
                                              .lr = 0.01f,
                                              .grad_scale = 0.5f,
                                              .correction1 = past(0.9),
                                              .sqrt_correction2 = std::sqrt(past(0.98)),
                                              .mean_weight = 0.25f,
                                              .average_rate = 0.2f});
  }

  // Fills all empty operands by their description; sizes, optional operands and dropout are random. The
  // caller sets ids and other integers.
  template <typename Arguments>
  Arguments complete(Arguments a = {});

 private:
  Tensor memory(Shape shape, DType dtype) {
    buffers_.emplace_back(static_cast<size_t>(std::max<int64_t>(shape.numel(), 1)) * size_of(dtype));
    const Tensor t = buffers_.back().tensor(shape, dtype);
    std::memset(t.data, 0xFF, t.bytes());
    return t;
  }
  Tensor filled(const Tensor& t, float scale) {
    const int64_t cols = t.cols(), stride = t.rank() == 2 ? t.row_stride : cols;
    for (int64_t i = 0; i < t.numel(); ++i) {
      const float x = scale * (2 * uniform_from_bits(bits()) - 1);
      const int64_t at = i / cols * stride + i % cols;
      if (t.dtype == DType::f32) t.ptr<float>()[at] = x;
      if (t.dtype == DType::bf16) t.ptr<BFloat16>()[at] = from_float<BFloat16>(x);
      if (t.dtype == DType::f16) t.ptr<Float16>()[at] = from_float<Float16>(x);
    }
    return t;
  }

  std::vector<Buffer> buffers_;
  std::deque<StepScalars> scalars_;
};

class GivenSizes {  // a visitor that gets each letter's size from the given operands
 public:
  void in(std::string_view, const Tensor& t, std::string_view dims, OperandType = OperandType::T, int64_t = -1) {
    if (!t.empty() && dims == "*") any = t.shape;
    for (int i = 0; i < t.rank() && dims != "*" && !t.empty(); ++i) size(dims[static_cast<size_t>(i)], t.dim(i));
  }
  void out(std::string_view name, const Tensor& t, std::string_view dims, OperandType = OperandType::T, int64_t = -1) {
    in(name, t, dims);
  }
  void add(std::string_view name, const Tensor& t, std::string_view dims, OperandType = OperandType::T, int64_t = -1) {
    in(name, t, dims);
  }
  void scratch_memory(std::string_view name, const Tensor& t, std::string_view dims) { in(name, t, dims); }
  void size(char letter, int64_t value) { of_letter[static_cast<unsigned char>(letter)] = value; }
  void ranges(const char*, const weft::ops::SequenceRanges&, const Tensor&) {}
  void dropout(const Dropout&) {}
  void scalars(const StepScalars*) {}

  Shape any;  // of "*"
  std::array<int64_t, 128> of_letter = all_unknown();

 private:
  static std::array<int64_t, 128> all_unknown() {
    std::array<int64_t, 128> sizes;
    sizes.fill(-1);
    return sizes;
  }
};

class MissingOperands {  // a visitor that makes the other operands
 public:
  MissingOperands(RandomArguments& r, const GivenSizes& given) : r_(r), any_(given.any), sizes_(given.of_letter) {}

  void in(std::string_view name, const Tensor& t, std::string_view dims, OperandType type = OperandType::T,
          int64_t = -1) {
    if (t.empty() && name.ends_with('?') && r_.coin()) return;
    if (t.empty()) const_cast<Tensor&>(t) = made(dims, type);
    if (dims == "*") any_ = t.shape;
    if (t.rank() == 2) last_cols_ = t.cols();
  }
  void out(std::string_view name, const Tensor& t, std::string_view dims, OperandType type = OperandType::T,
           int64_t = -1) {
    in(name, t, dims, type);
  }
  void add(std::string_view name, const Tensor& t, std::string_view dims, OperandType type = OperandType::T,
           int64_t = -1) {
    in(name, t, dims, type);
  }
  void scratch_memory(std::string_view name, const Tensor& t, std::string_view dims) {
    in(name, t, dims, OperandType::f32);
  }
  void size(char letter, int64_t value) { sizes_[static_cast<unsigned char>(letter)] = value; }
  void ranges(const char*, const weft::ops::SequenceRanges&, const Tensor&) {}
  void dropout(const Dropout& d) {
    if (d.rate <= 0) const_cast<Dropout&>(d) = r_.dropout(last_cols_);
  }
  void scalars(const StepScalars* const& s) {
    if (s == nullptr) const_cast<const StepScalars*&>(s) = r_.scalars();
  }

 private:
  Tensor made(std::string_view dims, OperandType type) {
    Shape shape = dims == "*" ? any_ : Shape();
    if (dims == "*" && any_.rank() == 0) shape = {r_.rows(), r_.cols()};
    for (size_t i = 0; i < dims.size() && dims != "*"; ++i) shape = shape.appended(size_of_letter(dims, i));
    const DType storage = dtype(type);
    return shape.rank() == 2 ? r_.matrix(shape[0], shape[1], storage) : r_.tensor(shape, storage);
  }
  int64_t size_of_letter(std::string_view dims, size_t i) {
    int64_t& size = sizes_[static_cast<unsigned char>(dims[i])];
    if (dims[i] >= '0' && dims[i] <= '9') size = dims[i] - '0';
    if (size < 0) size = i + 1 == dims.size() && i > 0 ? r_.cols() : r_.rows();
    return size;
  }
  DType dtype(OperandType type) {
    switch (type) {
      case OperandType::T:
        return r_.storage;
      case OperandType::T_or_f32:
        return r_.coin() ? DType::f32 : r_.storage;
      case OperandType::any_storage:
        return r_.one_of({DType::f32, DType::bf16, DType::f16});
      case OperandType::f32:
        return DType::f32;
      default:
        fail(ErrorKind::internal, "integers and sums are given by the test");
    }
  }

  RandomArguments& r_;
  Shape any_;
  std::array<int64_t, 128> sizes_;
  int64_t last_cols_ = 0;
};

template <typename Arguments>
Arguments RandomArguments::complete(Arguments a) {
  GivenSizes given;
  weft::ops::operands(given, a);
  MissingOperands missing(*this, given);
  weft::ops::operands(missing, a);
  return a;
}

}  // namespace weft::testing
