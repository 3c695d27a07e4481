// model/loss.cpp: computes the smoothed cross-entropy over the global vocabulary.
#include "model/loss.h"

namespace weft {

Tensor gathered_stats(Pass& p, const OutputProjection& output, const Tensor& logits, const Tensor& labels) {
  const VocabularyRange range = output.range(p.tp);
  return gathered_rows(p, logits.rows(), 4, [&](const Tensor& mine) {
    ops::softmax_stats(
        p.ctx, {.logits = logits, .targets = labels, .first_id = range.first, .valid = range.valid, .stats = mine});
  });
}

RowLoss cross_entropy(Pass& p, const OutputProjection& output, const Tensor& logits, const LossTargets& targets,
                      double smoothing, bool backward) {
  const VocabularyRange range = output.range(p.tp);
  const bool whole = p.tp.size() == 1;  // true if this rank holds all of the vocabulary
  const RowLoss rows{.loss = p.arena.tensor({logits.rows()}), .nll = p.arena.tensor({logits.rows()})};
  ops::cross_entropy(p.ctx, {.logits = logits,
                             .targets = targets.labels,
                             .weights = targets.weights,
                             .stats = whole ? Tensor{} : gathered_stats(p, output, logits, targets.labels),
                             .first_id = range.first,
                             .valid = range.valid,
                             .vocabulary = output.vocabulary(),
                             .smoothing = static_cast<float>(smoothing),
                             .backward = backward,
                             .scalars = p.scalars,
                             .loss = rows.loss,
                             .nll = rows.nll});
  return rows;
}

}  // namespace weft
