// model/consistency.h: computes losses that ask two passes over the same block to agree (LossOptions).
#pragma once

#include "model/loss.h"
#include "model/loss_options.h"

namespace weft {

// Returns the second pass over the block of `first`.
Pass second_pass(const Pass& first, const LossOptions& options);

// Computes row losses, and overwrites the logits of both passes with p.scalars->loss_scale * d loss / d logits.
RowLoss consistency_loss(Pass& p, const OutputProjection& output, const Tensor& logits_p, const Tensor& logits_q,
                         const LossTargets& targets, const LossOptions& options);

}  // namespace weft
