// trainer/stages/training_data.cpp: opens corpora and enters the stages in order.
#include "trainer/stages/training_data.h"

#include <algorithm>

namespace weft {
namespace {

std::map<std::string, std::string> tokenizers_of(const Corpus& corpus) {
  return read_tokenizers(corpus.folder(), corpus.manifest());
}

}  // namespace

TrainingData::TrainingData(const RunConfig& config, std::vector<Stage> stages, const Mesh& mesh)
    : config_(config),
      mesh_(mesh),
      stages_(std::move(stages)),
      tokenizers_(tokenizers_of(*stages_.mix().corpora.front().opened)) {
  start_loader(stages_.start(config.batch));
}

// The loader reads the corpora of the current stage. The corpora of the next stage are verified at the same time, so
// that the first step of that stage does not wait for digests.
void TrainingData::start_loader(const StepCursor& cursor) {
  verifier_.reset();
  loader_.reset();  // before a new loader reads ahead
  const auto is_present = [&](const MixCorpus& corpus) {
    return std::ranges::find(stages_.mix().corpora, corpus.opened, &MixCorpus::opened) != stages_.mix().corpora.end();
  };
  for (const Stage& stage : stages_.stages())
    for (const MixCorpus& corpus : stage.corpora)
      if (!is_present(corpus)) corpus.opened->close_shards();
  loader_ = std::make_unique<Loader>(stages_.mix(), config_.batch, config_.train.seed, mesh_.dp().rank(),
                                     mesh_.dp().size(), cursor);
  if (stages_.is_last()) return;
  std::vector<Corpus*> next;
  for (const MixCorpus& corpus : stages_.stages()[stages_.index() + 1].corpora)
    if (!is_present(corpus)) next.push_back(corpus.opened.get());
  verifier_ = std::make_unique<CorpusVerifier>(std::move(next));
}

Step TrainingData::next() {
  if (stage_is_over()) enter_next_stage();
  return loader_->next();
}

// The schedule counts steps from its own start.
double TrainingData::rate(int64_t step) const {
  const StageSchedule s = stages_.schedule(config_);
  return learning_rate(s.schedule, step - s.first_step, s.total_steps);
}

void TrainingData::add(const StepTotals& of_step) {
  dropped_ += of_step.dropped;
  below_score_ += of_step.below_score;
  stages_.set_clock(of_step.clock);
  stages_.add_step(of_step.target_tokens, of_step.corpora);
}

void TrainingData::require_next_stage() { verifier_->finish(); }

// Discards the steps that the loader has read ahead, because they belong to the finished stage.
void TrainingData::enter_next_stage() {
  StepCursor cursor = loader_->cursor();
  stages_.advance(cursor);
  start_loader(cursor);
}

std::optional<std::string> TrainingData::damage_of_next_stage() {
  return verifier_ ? verifier_->take_damage() : std::nullopt;
}

std::vector<std::string> TrainingData::resume(const StageState& saved, StepCursor& cursor) {
  std::vector<std::string> changes = stages_.resume(saved, cursor);
  start_loader(cursor);
  return changes;
}

}  // namespace weft
