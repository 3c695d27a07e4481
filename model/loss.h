// model/loss.h: label-smoothed cross-entropy over a vocabulary that is split over the tp axis.
//
// Smoothing is over the global vocabulary: 1 - e on the target, e / (V - 1) on each other entry. Ranks
// exchange four numbers per row (maximum, sum of exponentials, sum of logits, target's logit). The plain
// negative log-likelihood is computed along with it.
#pragma once

#include "model/layers/embedding.h"
#include "tensor/device_sums.h"

namespace weft {

struct RowLoss {
  Tensor loss, nll;  // [R], in nats: smoothed and plain
};

struct BlockLoss {  // sums over target tokens
  double loss = 0, nll = 0;
};

// Accumulates row sums over blocks on the device, so that nothing waits until they are read.
class LossTotal {
 public:
  explicit LossTotal(Device device) : sums_(2, device) {}
  void clear(Context& ctx) const { sums_.clear(ctx); }
  void add(Context& ctx, const RowLoss& rows) const {
    ops::sum(ctx, {.x = rows.loss, .y = sums_[0]});
    ops::sum(ctx, {.x = rows.nll, .y = sums_[1]});
  }
  BlockLoss read(Context& ctx) const {  // waits
    const std::vector<double> sums = sums_.read(ctx);
    return {.loss = sums[0], .nll = sums[1]};
  }

 private:
  DeviceSums sums_;
};

struct LossTargets {
  Tensor labels;        // [R] i32
  Tensor weights = {};  // [R]? f32: factors of the losses of each row
};

// Computes row losses. With `backward`, overwrites the logits with loss_scale (of p.scalars) * d loss / d logits.
RowLoss cross_entropy(Pass& p, const OutputProjection& output, const Tensor& logits, const LossTargets& targets,
                      double smoothing, bool backward);

// Returns row statistics (max, sum of exponentials) of logits over the whole vocabulary, from all ranks: [tp, R, 4].
Tensor gathered_stats(Pass& p, const OutputProjection& output, const Tensor& logits, const Tensor& labels);

}  // namespace weft
