// model/layers/partial_sum.h: a sum over tp, or of several matmuls: each writes or adds its part, and an all-reduce
// adds the ranks' parts.
//
//   PartialSum sum(p, y);                       // y [R, D], f32 or half precision
//   ops::gemm(p.ctx, {..., .c = sum.part(), .accumulate = sum.accumulates()});
//   sum.reduce(p);                              // sum.part() = the sum over tp
//   sum.finish(p);                              // y = the sum, or y += the sum
//
// part() is y itself where nothing is lost: for one matmul, unless the ranks' sum is added to y. The parts of several
// matmuls are f32, so that their sum is rounded once. part() is then a tensor of the arena, which lives as long as this
// object.
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
    const bool is_wider = of_several_matmuls && y.d.dtype != DType::f32;
    const bool needs_memory = is_wider || (y.add && p.tp.size() > 1);
    if (!needs_memory) return;
    scope_.emplace(p.arena);
    part_ = p.arena.tensor(y.d.shape, is_wider ? DType::f32 : y.d.dtype);
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
