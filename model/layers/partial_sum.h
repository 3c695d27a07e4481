// model/layers/partial_sum.h: computes a sum over the ranks of tp and over one or more matmuls. Each matmul writes or
// adds its part, and an all-reduce adds the ranks' parts. If ranks split rows (Pass::sequence), a reduce-scatter gives
// each rank the sum of its own rows.
//
//   PartialSum sum(p, y);                       // y [R, D], or own rows [R/tp, D]; f32 or half precision
//   ops::gemm(p.ctx, {..., .c = sum.part(), .accumulate = sum.accumulates()});  // part() [R, D]
//   sum.reduce(p);                              // sum.sum() = the sum over tp, of y's rows; part() is no longer used
//   sum.finish(p);                              // y = the sum, or y += the sum
//
// sum() is y itself if this loses no precision, which is so for a single matmul unless a sum over ranks is added to y.
// The parts of several matmuls are f32, so that their sum is rounded only once. part() is sum(), unless ranks split
// rows. Both may be arena tensors, which live as long as this object.
#pragma once

#include <optional>

#include "model/pass.h"

namespace weft {

// Tells a sublayer where to write the gradient of its input.
struct InputGradient {
  Tensor d;          // [R, D], or own rows
  bool add = false;  // true: add to d, which holds the gradient of the path around the sublayer
};

class PartialSum {
 public:
  PartialSum(Pass& p, const Tensor& y, bool of_several_matmuls = false)
      : PartialSum(p, InputGradient{.d = y}, of_several_matmuls) {}
  PartialSum(Pass& p, const InputGradient& y, bool of_several_matmuls = false) : y_(y), sum_(y.d) {
    const DType dtype = of_several_matmuls ? DType::f32 : y.d.dtype;
    needs_sum_ = dtype != y.d.dtype || (y.add && p.tp.size() > 1);
    if (needs_sum_ || p.splits_rows()) scope_.emplace(p.arena);
    if (needs_sum_) sum_ = p.arena.tensor(y.d.shape, dtype);
    part_ = p.splits_rows() ? p.arena.tensor({p.all_rows(y.d.rows()), y.d.cols()}, dtype) : sum_;
  }
  const Tensor& part() const { return part_; }
  const Tensor& sum() const { return sum_; }
  bool accumulates() const { return y_.add && !scope_; }  // true if the first matmul must also add to part()
  void reduce(Pass& p) {
    if (!p.splits_rows()) return p.tp.all_reduce(p.ctx, part_);
    p.tp.reduce_scatter(p.ctx, part_, sum_);
    if (!needs_sum_) scope_.reset();
  }
  void finish(Pass& p) const {
    if (!needs_sum_) return;
    if (y_.add) return ops::add(p.ctx, {.x = sum_, .y = y_.d});
    ops::cast(p.ctx, {.x = sum_, .y = y_.d});
  }

 private:
  InputGradient y_;
  Tensor part_, sum_;
  bool needs_sum_ = false;  // true if the sum does not use y's memory
  std::optional<ArenaScope> scope_;
};

}  // namespace weft
