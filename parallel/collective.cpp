// parallel/collective.cpp: implements checks, chunks, and sums in rank order.
#include "parallel/collective.h"

#include "tensor/cpu/sum_in_order.h"
#include "tensor/error.h"

namespace weft {

Chunk chunk_of(int64_t numel, int index, int num_chunks) {
  const int64_t each = numel / num_chunks, longer = numel % num_chunks;
  return {index * each + std::min<int64_t>(index, longer), each + (index < longer ? 1 : 0)};
}

void reduce_in_rank_order(ReduceOp op, DType dtype, std::span<const void* const> parts, int64_t count, void* out) {
  op == ReduceOp::sum ? sum_in_order(dtype, parts, count, out) : max_in_order(dtype, parts, count, out);
}

void check_collective(const Tensor& x) {
  require(x.device == Device::cpu, ErrorKind::internal, "a collective of this communicator needs host memory");
  require(x.contiguous(), ErrorKind::internal, "a collective needs a contiguous tensor, not a column slice");
}

void check_gather(const Tensor& part, const Tensor& whole, int num_parts) {
  check_collective(part);
  check_collective(whole);
  if (part.dtype != whole.dtype || whole.numel() != num_parts * part.numel()) {
    fail(ErrorKind::internal, fmt::format("{} parts of shape {} ({}) do not make {} ({})", num_parts, part.shape.str(),
                                          name_of(part.dtype), whole.shape.str(), name_of(whole.dtype)));
  }
}

void check_all_to_all(const Tensor& x, const Tensor& y, int num_parts) {
  check_collective(x);
  check_collective(y);
  if (x.dtype == y.dtype && x.numel() == y.numel() && x.numel() % num_parts == 0) return;
  fail(ErrorKind::internal, fmt::format("{} ({}) and {} ({}) do not each divide into {} equal parts", x.shape.str(),
                                        name_of(x.dtype), y.shape.str(), name_of(y.dtype), num_parts));
}

}  // namespace weft
