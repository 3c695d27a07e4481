// model/consistency.cpp: prepares the second pass, and computes the loss of both over the global vocabulary.
#include "model/consistency.h"

namespace weft {
namespace {

ops::ConsistencyFactors factors_of(const LossOptions& options) {
  const auto weight = static_cast<float>(options.weight);
  if (options.consistency == Consistency::simcut) return {.divergence_p = weight};
  return {.entropy_p = 0.5f, .entropy_q = 0.5f, .divergence_p = weight / 4, .divergence_q = weight / 4};
}

}  // namespace

Pass second_pass(const Pass& first, const LossOptions& options) {
  Pass second = first;
  const PhiloxBits seed = philox(first.seed, 0, 0, purpose_of("consistency"));
  second.seed = static_cast<uint64_t>(seed.v[1]) << 32 | seed.v[0];
  second.cut = options.cut_rate;
  second.gather = nullptr;  // the first pass has gathered the weights
  return second;
}

RowLoss consistency_loss(Pass& p, const OutputProjection& output, const Tensor& logits_p, const Tensor& logits_q,
                         const LossTargets& targets, const LossOptions& options) {
  const VocabularyRange range = output.range(p.tp);
  const int64_t rows = logits_p.rows();
  const Tensor all = gathered_rows(p, rows, ops::kPairStats, [&](const Tensor& mine) {
    ops::consistency_stats(p.ctx, {.logits_p = logits_p,
                                   .logits_q = logits_q,
                                   .targets = targets.labels,
                                   .first_id = range.first,
                                   .valid = range.valid,
                                   .stats = mine});
  });
  const RowLoss of_rows{
      .loss = p.arena.tensor({rows}), .nll = p.arena.tensor({rows}), .divergence = p.arena.tensor({rows})};
  ops::consistency_loss(p.ctx, {.logits_p = logits_p,
                                .logits_q = logits_q,
                                .targets = targets.labels,
                                .weights = targets.weights,
                                .stats = all,
                                .first_id = range.first,
                                .valid = range.valid,
                                .vocabulary = output.vocabulary(),
                                .smoothing = static_cast<float>(options.smoothing),
                                .factors = factors_of(options),
                                .scalars = p.scalars,
                                .loss = of_rows.loss,
                                .nll = of_rows.nll,
                                .divergence = of_rows.divergence});
  return of_rows;
}

}  // namespace weft
