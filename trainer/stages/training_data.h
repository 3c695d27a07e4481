// trainer/stages/training_data.h: what one rank of a run trains on: the corpora of all stages, the steps read from
// those of the present one, and the place in them.
//
// Every rank has one and makes the same calls after the same steps.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus_verifier.h"
#include "data/loader.h"
#include "parallel/mesh.h"
#include "trainer/stages/stage_run.h"
#include "trainer/step/step_totals.h"

namespace weft {

class TrainingData {
 public:
  // The data of a new run. `config` and `stages` are resolved (trainer/plan/resolve.h). Corpora stay as they are now,
  // also if pairs are appended to them later.
  TrainingData(const RunConfig& config, std::vector<Stage> stages, const Mesh& mesh);

  // This rank's part of the next step. Waits for the thread that reads ahead, and throws its Error. Where the present
  // stage is over, enters the next one first.
  Step next();
  double rate(int64_t step) const;      // the learning rate of step 0, 1, ... of the run
  void add(const StepTotals& of_step);  // counts a step; `of_step`: the totals of all ranks
  const StageRun& stages() const { return stages_; }
  bool is_over() const { return stages_.is_last() && stages_.is_over(); }
  bool stage_is_over() const { return stages_.is_over() && !stages_.is_last(); }
  // Between two steps, after the last one of a stage. An Error if a file of the next stage is missing or damaged;
  // nothing changes then.
  void require_next_stage();
  void enter_next_stage();
  // A file of the next stage that was found missing or damaged in the meantime; returned once.
  std::optional<std::string> damage_of_next_stage();

  // Pairs that were passed over since the start: because they do not fit a block, or their score is too low.
  int64_t dropped() const { return dropped_; }
  int64_t below_score() const { return below_score_; }

  StepCursor cursor() const { return loader_->cursor(); }  // of this rank's streams
  // Continues at the place that a checkpoint has; `cursor` holds this rank's streams, and is that of the next step
  // afterwards. Returns what of the stages has changed since, one line each. What may not change is an Error of kind
  // usage (StageRun::resume).
  std::vector<std::string> resume(const StageState& saved, StepCursor& cursor);

  // The tokenizers that all corpora share: file name -> contents.
  const std::map<std::string, std::string>& tokenizers() const { return tokenizers_; }

 private:
  void start_loader(const StepCursor& cursor);

  const RunConfig config_;
  const Mesh& mesh_;
  StageRun stages_;
  std::map<std::string, std::string> tokenizers_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<CorpusVerifier> verifier_;  // of the corpora of the next stage
  int64_t dropped_ = 0, below_score_ = 0;
};

}  // namespace weft
