// tensor/op/loss_ops.h: declares the arguments of the ops that compute losses. See ops.h for the rules of all ops.
#pragma once

#include <cstdint>

#include "tensor/op/step_scalars.h"
#include "tensor/tensor.h"

namespace weft::ops {

// Prepares the cross-entropy over a vocabulary that may be split over ranks. Each rank reduces its columns to 4 numbers
// per row, and an all-gather exchanges these numbers. From them each rank computes the row's global maximum, sum of
// exponentials, sum of logits and target logit.
struct SoftmaxStats {
  Tensor logits;         // [R, V] local columns
  Tensor targets;        // [R] i32? global ids; negative: no target
  int64_t first_id = 0;  // global id of column 0
  int64_t valid = 0;     // number of real columns; the others pad the last rank's shard and are never predicted
  Tensor stats;          // [R, 4] f32 out: max, sum exp(logit - max), sum logits, target's logit (0 if elsewhere)
};
struct CrossEntropy {  // computes smoothed loss, plain loss, and the gradient in place of the logits
  Tensor logits;       // [R, V] in; out: d_loss/d_logits * loss_scale if `backward`; padding columns 0
  Tensor targets;      // [R] i32 global ids; a negative id gives loss and gradient 0
  Tensor weights;      // [R]? f32, not negative: multiplies each row's losses and gradient; empty: all 1
  Tensor stats;        // [ranks, R, 4]? f32 gathered in rank order; empty: the whole vocabulary is on this rank, and
                       //   statistics, loss and gradient come from one pass over a row
  int64_t first_id = 0, valid = 0;
  int64_t vocabulary = 0;  // global V
  float smoothing = 0;     // e: 1 - e on the target, e / (V - 1) on each other entry
  bool backward = true;
  const StepScalars* scalars = nullptr;  // loss_scale, if `backward`
  Tensor loss, nll;                      // [R] f32 out: smoothed loss and plain negative log-likelihood
};

// A loss of two passes over the same rows, whose softmax distributions are p and q. The loss of a row is
//   entropy_p H(p) + entropy_q H(q) + divergence_p KL(p || q) + divergence_q KL(q || p),
// where H is the smoothed cross-entropy, and KL(p || q) = sum of p (log p - log q). The gradient flows through both
// distributions.
struct ConsistencyFactors {
  float entropy_p = 1, entropy_q = 0, divergence_p = 0, divergence_q = 0;
};
inline constexpr int64_t kPairStats = 10;
// Prepares it like SoftmaxStats: for each row, the 4 numbers of p and of q, then sum exp(logit_p - max_p) (logit_p -
// logit_q) and sum exp(logit_q - max_q) (logit_q - logit_p).
struct ConsistencyStats {
  Tensor logits_p, logits_q;  // [R, V] local columns
  Tensor targets;             // [R] i32 global ids; negative: no target
  int64_t first_id = 0;       // global id of column 0
  int64_t valid = 0;          // number of real columns
  Tensor stats;               // [R, 10] f32 out
};
struct ConsistencyLoss {      // computes losses, and the gradients in place of the logits
  Tensor logits_p, logits_q;  // [R, V] in; out: d_loss/d_logits * loss_scale; padding columns 0
  Tensor targets;             // [R] i32 global ids; a negative id gives losses and gradients 0
  Tensor weights;             // [R]? f32, not negative: multiplies each row's losses and gradients
  Tensor stats;               // [ranks, R, 10] f32, gathered in rank order
  int64_t first_id = 0, valid = 0;
  int64_t vocabulary = 0;  // global V
  float smoothing = 0;     // as for CrossEntropy
  ConsistencyFactors factors;
  const StepScalars* scalars = nullptr;  // loss_scale
  Tensor loss;                           // [R] f32 out
  Tensor nll;                            // [R] f32 out: entropy_p nll(p) + entropy_q nll(q)
  Tensor divergence;                     // [R] f32 out: divergence_p KL(p || q) + divergence_q KL(q || p)
};

}  // namespace weft::ops
