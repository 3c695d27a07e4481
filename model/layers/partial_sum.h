// model/layers/partial_sum.h: a sum over tp, or of several matmuls: each writes or adds its part, an all-reduce adds
// the ranks' parts in f32, and the sum is rounded once.
//
//   PartialSum sum(p, y);                       // y [R, D], f32 or half precision
//   ops::gemm(p.ctx, {..., .c = sum.part(), .accumulate = sum.accumulates()});
//   sum.reduce(p);                              // sum.part() = the sum over tp, not yet rounded
//   sum.finish(p);                              // y = the sum, or y += the sum
//
// part() is y itself where nothing is lost: for one matmul on one rank, and in f32 unless the ranks' sum is added to
// y. Otherwise it is an f32 tensor of the arena, which lives as long as this object.
#pragma once

#include <optional>

#include "model/pass.h"

namespace weft {

// Where a sublayer leaves the gradient of its input.
struct InputGradient {
  Tensor d;          // [R, D]
  bool add = false;  // to d, which holds the gradient of the path around the sublayer
};

class PartialSum {
 public:
  PartialSum(Pass& p, const Tensor& y, bool of_several_matmuls = false)
      : PartialSum(p, InputGradient{.d = y}, of_several_matmuls) {}
  PartialSum(Pass& p, const InputGradient& y, bool of_several_matmuls = false) : y_(y), part_(y.d) {
    const bool in_f32 = y.d.dtype == DType::f32, of_several_ranks = p.tp.size() > 1;
    const bool needs_memory = in_f32 ? of_several_ranks && y.add : of_several_ranks || of_several_matmuls;
    if (!needs_memory) return;
    scope_.emplace(p.arena);
    part_ = p.arena.tensor(y.d.shape);
  }
  const Tensor& part() const { return part_; }
  bool accumulates() const { return y_.add && !scope_; }  // the first matmul adds to part() as well
  void reduce(Pass& p) const { p.tp.all_reduce(p.ctx, part_); }
  void finish(Pass& p) const {
    if (!scope_) return;
    if (y_.add) return ops::add(p.ctx, {.x = part_, .y = y_.d});
    ops::cast(p.ctx, {.x = part_, .y = y_.d});
  }

 private:
  InputGradient y_;
  Tensor part_;
  std::optional<ArenaScope> scope_;
};

}  // namespace weft
