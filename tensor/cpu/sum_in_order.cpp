// tensor/cpu/sum_in_order.cpp: sums block by block, so that partial sums stay in the L1 cache.
#include "tensor/cpu/sum_in_order.h"

#include <algorithm>

#include "tensor/error.h"
#include "tensor/half.h"

namespace weft {
namespace {

constexpr int64_t kBlock = 2048;  // elements

template <typename F>
void for_each_block(int64_t count, const F& f) {
  for (int64_t begin = 0; begin < count; begin += kBlock) f(begin, std::min(kBlock, count - begin));
}

template <typename T>
void add_into(const T* __restrict x, T* __restrict sum, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += x[i];
}

template <typename T>
void max_into(const T* __restrict x, T* __restrict max, int64_t count) {
  for (int64_t i = 0; i < count; ++i) max[i] = (x[i] > max[i] || x[i] != x[i]) ? x[i] : max[i];
}

template <typename T, typename Into>
void combine(std::span<const void* const> parts, int64_t count, void* out, const Into& into) {
  for_each_block(count, [&](int64_t begin, int64_t n) {
    T block[kBlock];  // not `out`, which may be a part that is still to be read
    std::copy_n(static_cast<const T*>(parts[0]) + begin, n, block);
    for (const void* part : parts.subspan(1)) into(static_cast<const T*>(part) + begin, block, n);
    std::copy_n(block, n, static_cast<T*>(out) + begin);
  });
}

template <typename T>
void add(std::span<const void* const> parts, int64_t count, void* out) {
  combine<T>(parts, count, out, add_into<T>);
}

template <typename T>
void max(std::span<const void* const> parts, int64_t count, void* out) {
  combine<T>(parts, count, out, max_into<T>);
}

template <typename T>
void add_half_into(const T* __restrict x, float* __restrict sum, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += to_float(x[i]);
}

template <typename T>
void round_to(const float* __restrict sum, T* __restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = from_float<T>(sum[i]);
}

template <typename T>
void add_halves(std::span<const void* const> parts, int64_t count, void* out) {
  for_each_block(count, [&](int64_t begin, int64_t n) {
    float block[kBlock] = {};
    for (const void* part : parts) add_half_into(static_cast<const T*>(part) + begin, block, n);
    round_to(block, static_cast<T*>(out) + begin, n);
  });
}

}  // namespace

void sum_in_order(DType dtype, std::span<const void* const> parts, int64_t count, void* out) {
  switch (dtype) {
    case DType::bf16:
      return add_halves<BFloat16>(parts, count, out);
    case DType::f16:
      return add_halves<Float16>(parts, count, out);
    case DType::f32:
      return add<float>(parts, count, out);
    case DType::f64:
      return add<double>(parts, count, out);
    case DType::i32:
      return add<int32_t>(parts, count, out);
    case DType::i8:
      fail(ErrorKind::internal, "packed weights are not summed");
  }
}

void max_in_order(DType dtype, std::span<const void* const> parts, int64_t count, void* out) {
  switch (dtype) {
    case DType::f32:
      return max<float>(parts, count, out);
    case DType::f64:
      return max<double>(parts, count, out);
    case DType::i32:
      return max<int32_t>(parts, count, out);
    case DType::bf16:
    case DType::f16:
    case DType::i8:
      fail(ErrorKind::internal, "a maximum over ranks supports only f32, f64 and i32");
  }
}

}  // namespace weft
