// parallel/collective.cpp: checks, chunks, and sums in rank order.
#include "parallel/collective.h"

#include <cstring>

#include "tensor/error.h"
#include "tensor/half.h"

namespace weft {
namespace {

constexpr int64_t kBlock = 2048;  // elements summed at a time: the partial sums stay in the first-level cache

template <typename T>
void add_into(const T* __restrict x, T* __restrict sum, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += x[i];
}

template <typename T>
void max_into(const T* __restrict x, T* __restrict max, int64_t count) {
  for (int64_t i = 0; i < count; ++i) max[i] = (x[i] > max[i] || x[i] != x[i]) ? x[i] : max[i];
}

template <typename T>
void reduce(ReduceOp op, std::span<const void* const> parts, int64_t count, T* out) {
  for_each_piece(count, kBlock, [&](int64_t begin, int64_t n) {
    T block[kBlock];  // separate from `out`, which may be one of the parts still to be read
    std::copy_n(static_cast<const T*>(parts[0]) + begin, n, block);
    for (const void* part : parts.subspan(1)) {
      const T* x = static_cast<const T*>(part) + begin;
      op == ReduceOp::sum ? add_into(x, block, n) : max_into(x, block, n);
    }
    std::copy_n(block, n, out + begin);
  });
}

// In f32, rounded once. Half precision is summed, but nothing needs its maximum.
template <typename T>
void sum_halves(std::span<const void* const> parts, int64_t count, T* out) {
  for_each_piece(count, kBlock, [&](int64_t begin, int64_t n) {
    float block[kBlock] = {};
    for (const void* part : parts) {
      const T* x = static_cast<const T*>(part) + begin;
      for (int64_t i = 0; i < n; ++i) block[i] += to_float(x[i]);
    }
    for (int64_t i = 0; i < n; ++i) out[begin + i] = from_float<T>(block[i]);
  });
}

}  // namespace

Chunk chunk_of(int64_t numel, int index, int num_chunks) {
  const int64_t each = numel / num_chunks, longer = numel % num_chunks;
  return {index * each + std::min<int64_t>(index, longer), each + (index < longer ? 1 : 0)};
}

void reduce_in_rank_order(ReduceOp op, DType dtype, std::span<const void* const> parts, int64_t count, void* out) {
  require(op == ReduceOp::sum || (dtype != DType::bf16 && dtype != DType::f16), ErrorKind::internal,
          "the maximum of half-precision numbers over ranks");
  switch (dtype) {
    case DType::bf16:
      return sum_halves(parts, count, static_cast<BFloat16*>(out));
    case DType::f16:
      return sum_halves(parts, count, static_cast<Float16*>(out));
    case DType::f32:
      return reduce(op, parts, count, static_cast<float*>(out));
    case DType::f64:
      return reduce(op, parts, count, static_cast<double*>(out));
    case DType::i32:
      return reduce(op, parts, count, static_cast<int32_t*>(out));
  }
}

void check_collective(const Tensor& x) {
  require(x.device == Device::cpu, ErrorKind::internal, "a collective of this communicator needs host memory");
  require(x.contiguous(), ErrorKind::internal, "a collective needs a contiguous tensor, not a column slice");
}

void check_gather(const Tensor& part, const Tensor& whole, int num_parts) {
  check_collective(part);
  check_collective(whole);
  if (part.dtype != whole.dtype || whole.numel() != num_parts * part.numel()) {
    fail(ErrorKind::internal, fmt::format("{} parts of {} {} do not make {} {}", num_parts, part.shape.str(),
                                          name_of(part.dtype), whole.shape.str(), name_of(whole.dtype)));
  }
}

void check_all_to_all(const Tensor& x, const Tensor& y, int num_parts) {
  check_collective(x);
  check_collective(y);
  if (x.dtype == y.dtype && x.numel() == y.numel() && x.numel() % num_parts == 0) return;
  fail(ErrorKind::internal, fmt::format("{} {} and {} {} are not {} equal parts each", x.shape.str(), name_of(x.dtype),
                                        y.shape.str(), name_of(y.dtype), num_parts));
}

}  // namespace weft
