// model/loss.h: label-smoothed cross-entropy over a vocabulary that is split over the tp axis.
//
// Smoothing is over the global vocabulary: 1 - e on the target, e / (V - 1) on each other entry. Ranks exchange four
// numbers a row (maximum, sum of exponentials, sum of logits, target's logit); the plain negative log-likelihood comes
// with it.
#pragma once

#include "model/embedding.h"

namespace weft {

struct BlockLoss {  // sums over a block's target tokens, in nats
  double loss = 0;  // smoothed
  double nll = 0;   // plain
  BlockLoss& operator+=(const BlockLoss& o) {
    loss += o.loss;
    nll += o.nll;
    return *this;
  }
};

struct RowLoss {
  Tensor loss, nll;  // [R]
};

// Row losses; with `backward`, the logits are overwritten by grad_scale * d loss / d logits.
RowLoss cross_entropy(Pass& p, const OutputProjection& output, const Tensor& logits, const Tensor& targets,
                      double smoothing, double grad_scale, bool backward);

BlockLoss sum_of(Pass& p, const RowLoss& rows);  // waits for the device

// Row statistics (max, sum of exponentials) of logits over the whole vocabulary, gathered from all ranks: [tp, R, 4].
Tensor gathered_stats(Pass& p, const OutputProjection& output, const Tensor& logits, const Tensor& targets);

}  // namespace weft
