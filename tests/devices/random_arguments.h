// tests/devices/random_arguments.h: random arguments of one op, on the host: tensors of every storage and place in
// memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <vector>

#include "tensor/half.h"
#include "tensor/memory.h"
#include "tensor/random.h"

namespace weft::testing {

// A pure function of the seed.
class RandomArguments {
 public:
  RandomArguments(uint64_t seed, DType storage) : storage(storage), seed_(seed) {}
  const DType storage;

  int64_t from(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(bits() % static_cast<uint64_t>(most - least + 1));
  }
  bool coin() { return from(0, 1) == 1; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[from(0, static_cast<int64_t>(values.size()) - 1)];
  }
  int64_t rows() { return one_of<int64_t>({1, 2, 5, 33, 70}); }
  int64_t cols() { return one_of<int64_t>({8, 17, 31, 64, 100, 256, 520}); }

  // Uniform in (-scale, scale]. A matrix is whole or a column slice of one, of which the other columns are NaN: at an
  // offset and of a stride that vectors of 16 bytes divide or not.
  Tensor matrix(int64_t rows, int64_t cols) { return matrix(rows, cols, storage); }
  Tensor matrix(int64_t rows, int64_t cols, DType dtype, float scale = 1) {
    if (coin()) return filled(memory({rows, cols}, dtype), scale);
    const int64_t offset = one_of<int64_t>({0, 3, 8}), rest = one_of<int64_t>({0, 5, 8});
    return filled(memory({rows, offset + cols + rest}, dtype).slice_cols(offset, cols), scale);
  }
  Tensor floats(Shape shape, float scale = 1) { return filled(memory(shape, DType::f32), scale); }
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
  Tensor ids(int64_t count, int64_t least, int64_t most) {
    std::vector<int32_t> values(static_cast<size_t>(count));
    for (int32_t& id : values) id = static_cast<int32_t>(from(least, most));
    return ints(values);
  }
  Dropout dropout(int64_t row_stride) {
    if (coin()) return {};
    return {.rate = one_of({0.1f, 0.5f}),
            .seed = bits(),
            .step = static_cast<uint32_t>(from(0, 1000)),
            .purpose = static_cast<uint32_t>(bits()),
            .first = coin() ? static_cast<uint64_t>(from(0, 9)) : (uint64_t{1} << 33) - 5,
            .row_stride = row_stride + from(0, 3)};
  }
  // A step's state that lives as long as these arguments.
  StepState& state() { return states_.emplace_back(); }

 private:
  uint32_t bits() { return random_bits(seed_, next_++, 0, purpose_of("arguments")); }
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

  uint64_t seed_, next_ = 0;
  std::vector<Buffer> buffers_;
  std::deque<StepState> states_;
};

// The dropout that a GPU reads from a step's state, and what it comes to.
struct StatefulDropout {
  Dropout on_cpu, on_gpu;
  StatefulDropout(RandomArguments& r, int64_t rows, int64_t row_stride)
      : on_cpu(r.dropout(row_stride)), on_gpu(on_cpu) {
    if (r.coin()) return;
    StepState& state = r.state();
    state.step = static_cast<uint32_t>(r.from(0, 9)), state.block = r.from(0, 3);
    on_gpu.state = &state, on_gpu.block_stride = rows * row_stride;
    on_cpu = on_gpu.resolved(), on_cpu.block_stride = 0;
  }
};

}  // namespace weft::testing
