// model/loss.h: computes the label-smoothed cross-entropy over a vocabulary that is split over the tp axis.
//
// Smoothing covers the global vocabulary: the target gets 1 - e, and every other entry e / (V - 1). Ranks exchange four
// numbers per row (maximum, sum of exponentials, sum of logits, target's logit). The plain negative log-likelihood is
// computed in the same pass.
#pragma once

#include "model/layers/embedding.h"
#include "tensor/device_sums.h"

namespace weft {

struct RowLoss {
  Tensor loss, nll;        // [R], in nats: smoothed loss and plain negative log-likelihood
  Tensor divergence = {};  // [R]? the part of the loss that compares two passes (consistency.h)
};

struct BlockLoss {  // sums over target tokens
  double loss = 0, nll = 0;
};

// Sums the losses of rows over blocks on the device, so that the host waits only when it reads the sums.
class LossTotal {
 public:
  explicit LossTotal(Device device) : sums_(2, device) {}
  void clear(Context& ctx) const { sums_.clear(ctx); }
  void add(Context& ctx, const RowLoss& rows) const {
    ops::sum(ctx, {.x = rows.loss, .y = sums_[0]});
    ops::sum(ctx, {.x = rows.nll, .y = sums_[1]});
  }
  BlockLoss read(Context& ctx) const {  // waits for the device
    const std::vector<double> sums = sums_.read(ctx);
    return {.loss = sums[0], .nll = sums[1]};
  }

 private:
  DeviceSums sums_;
};

struct LossTargets {
  Tensor labels;        // [R] i32
  Tensor weights = {};  // [R]? f32: factor of each row's losses
};

// Computes row losses. With `backward`, overwrites the logits with p.scalars->loss_scale * d loss / d logits.
RowLoss cross_entropy(Pass& p, const OutputProjection& output, const Tensor& logits, const LossTargets& targets,
                      double smoothing, bool backward);

// Returns statistics of rows whose vocabulary is split, gathered from all ranks: [tp, R, numbers]. compute(mine) fills
// those of this rank's columns, [R, numbers].
template <typename Compute>
Tensor gathered_rows(Pass& p, int64_t rows, int64_t numbers, const Compute& compute) {
  const Tensor all = p.arena.tensor({p.tp.size(), rows, numbers});
  const Tensor mine = p.tp.size() == 1 ? all.with_shape({rows, numbers}) : p.arena.tensor({rows, numbers});
  compute(mine);
  if (p.tp.size() > 1) p.tp.gather_stats(p.ctx, mine, all);
  return all;
}
// Returns the statistics of each row of logits (ops::SoftmaxStats), gathered from all ranks: [tp, R, 4].
Tensor gathered_stats(Pass& p, const OutputProjection& output, const Tensor& logits, const Tensor& labels);

}  // namespace weft
