// model/layers/partial_sum.h: a tensor that is a sum over the ranks of the tp axis: each rank writes its part, the sum
// is rounded once.
//
//   const PartialSum sum(p, d_x);          // d_x [R, D], f32 or half
//   ops::gemm(p.ctx, {..., .c = sum.part()});
//   sum.finish(p);                         // d_x = the sum over tp
//
// Parts are summed in f32: where d_x stores halves and tp > 1, the part is an f32 tensor of the arena, else d_x itself.
#pragma once

#include "model/pass.h"

namespace weft {

class PartialSum {
 public:
  PartialSum(Pass& p, const Tensor& sum)
      : sum_(sum), part_(p.tp.size() > 1 && sum.dtype != DType::f32 ? p.arena.tensor(sum.shape) : sum) {}
  const Tensor& part() const { return part_; }
  void finish(Pass& p) const {
    p.tp.all_reduce(p.ctx, part_);
    if (part_.dtype != sum_.dtype) ops::cast(p.ctx, {.x = part_, .y = sum_});
  }

 private:
  Tensor sum_, part_;
};

}  // namespace weft
