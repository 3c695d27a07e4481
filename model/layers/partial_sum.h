// model/layers/partial_sum.h: a sum over tp, or of several matmuls: each writes or adds its part, an all-reduce adds
// the ranks' parts in f32, and the sum is rounded once.
//
//   PartialSum sum(p, y);                       // y [R, D], f32 or half precision
//   ops::gemm(p.ctx, {..., .c = sum.part()});
//   sum.reduce(p);                              // sum.part() = the sum over tp, not yet rounded
//   sum.round(p);                               // y = the sum
//
// If y has half precision and there are several parts, part() is an f32 tensor of the arena, which lives as long as
// this object. Otherwise it is y itself.
#pragma once

#include <optional>

#include "model/pass.h"

namespace weft {

class PartialSum {
 public:
  PartialSum(Pass& p, const Tensor& y, bool of_several_matmuls = false) : y_(y), part_(y) {
    if ((p.tp.size() == 1 && !of_several_matmuls) || y.dtype == DType::f32) return;
    scope_.emplace(p.arena);
    part_ = p.arena.tensor(y.shape);
  }
  const Tensor& part() const { return part_; }
  void reduce(Pass& p) const { p.tp.all_reduce(p.ctx, part_); }
  void round(Pass& p) const {
    if (part_.dtype != y_.dtype) ops::cast(p.ctx, {.x = part_, .y = y_});
  }

 private:
  Tensor y_, part_;
  std::optional<ArenaScope> scope_;
};

}  // namespace weft
