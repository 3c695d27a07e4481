// trainer/stages/mix_rates.cpp: computes mean lengths of a mix, and how many of its pairs fill the blocks of a step.
#include "trainer/stages/mix_rates.h"

#include <algorithm>
#include <cmath>

namespace weft {

MixRates::MixRates(const Stage& stage, const BatchConfig& batch) {
  for (const MixCorpus& corpus : stage.corpora) {
    const Manifest& m = corpus.manifest();
    const double pairs = static_cast<double>(m.num_pairs), w = static_cast<double>(corpus.weight);
    weights += w;
    source += w * static_cast<double>(m.source_rows()) / pairs;
    target += w * static_cast<double>(m.target_rows()) / pairs;
  }
  source /= weights, target /= weights;
  pairs_a_step = static_cast<double>(batch.blocks) *
                 std::min(static_cast<double>(batch.rows) / target, static_cast<double>(batch.source_rows) / source);
}

int64_t steps_of_run(const RunConfig& c, const std::vector<Stage>& stages) {
  if (c.train.steps > 0) return c.train.steps;
  const Stage& stage = stages.front();  // train.epochs and train.tokens exclude stages
  const MixRates rates(stage, c.batch);
  if (c.train.tokens > 0)
    return std::max<int64_t>(1,
                             std::llround(static_cast<double>(c.train.tokens) / (rates.pairs_a_step * rates.target)));
  const auto corpus = std::ranges::find(stage.corpora, stage.end.epochs_of, &MixCorpus::folder);
  const double steps = static_cast<double>(stage.end.epochs) * rates.steps_per_epoch(*corpus);
  return std::max<int64_t>(1, std::llround(steps));
}

}  // namespace weft
