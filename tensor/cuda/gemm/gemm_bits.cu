// tensor/cuda/gemm/gemm_bits.cu: computes relu after a GEMM, and its gradient, if no cuBLASLt algorithm does. relu
// saves one bit per element, in cuBLASLt's layout: column j of a row is bit j % 8 of byte j / 8.
#include "tensor/cuda/gemm/gemm_plan.h"
#include "tensor/cuda/groups.cuh"
#include "tensor/math.h"

namespace weft::cuda {
namespace {

static_assert(kGroup == 8, "a group of columns fills one byte of bits");

template <typename T>
struct ReluGroup {
  Rows<T> c;
  Rows<uint8_t> bits;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float values[kGroup];
    load(c[row] + col, count, values);
    unsigned byte = 0;
    for (int i = 0; i < kGroup; ++i) {
      byte |= values[i] > 0.0f ? 1u << i : 0u;
      values[i] = ActivationFunction<Activation::relu>::value(values[i]);
    }
    bits[row][col / kGroup] = static_cast<uint8_t>(byte);
    store(values, c[row] + col, count);
  }
};

template <typename T>
struct KeepGroup {
  Rows<T> c;
  Rows<uint8_t> bits;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float values[kGroup];
    load(c[row] + col, count, values);
    const unsigned byte = bits[row][col / kGroup];
    for (int i = 0; i < kGroup; ++i) values[i] = (byte >> i & 1u) != 0 ? values[i] : 0.0f;
    store(values, c[row] + col, count);
  }
};

Rows<uint8_t> bits_of(const Tensor& bits, int64_t cols) {
  return {static_cast<uint8_t*>(bits.data), saved_stride(Activation::relu, cols) / 8};
}

}  // namespace

void relu_with_bits(Context& ctx, const Tensor& c, const Tensor& bits) {
  for_storage(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, "relu_with_bits", c.rows(), c.cols(), ReluGroup<T>{rows_of<T>(c), bits_of(bits, c.cols())});
  });
}

void keep_by_bits(Context& ctx, const Tensor& c, const Tensor& bits) {
  for_storage(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, "keep_by_bits", c.rows(), c.cols(), KeepGroup<T>{rows_of<T>(c), bits_of(bits, c.cols())});
  });
}

}  // namespace weft::cuda
