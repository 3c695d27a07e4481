// trainer/stages/training_data.h: the training data of one rank: the corpora of all stages, the steps read from the
// corpora of the current stage, and the position in them.
//
// Every rank owns one and makes the same calls after the same steps.
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
  // Opens the data of a new run. Corpora stay as they are now, even if pairs are appended to them later. REQUIRES:
  // `config` and `stages` are resolved (trainer/plan/resolve.h).
  TrainingData(const RunConfig& config, std::vector<Stage> stages, const Mesh& mesh);

  // Returns this rank's part of the next step. Waits for the thread that reads ahead, and throws its Error. If the
  // current stage is over, enters the next one first.
  Step next();
  double rate(int64_t step) const;      // learning rate of step 0, 1, ... of the run
  void add(const StepTotals& of_step);  // counts a step from the totals of all ranks
  const StageRun& stages() const { return stages_; }
  bool is_over() const { return stages_.is_last() && stages_.is_over(); }
  bool stage_is_over() const { return stages_.is_over() && !stages_.is_last(); }
  // Throws an Error if a file of the next stage is missing or damaged, and then changes nothing. Call it between two
  // steps, after the last one of a stage.
  void require_next_stage();
  void enter_next_stage();
  // Describes a file of the next stage that was found missing or damaged in the meantime. Returns each finding once.
  std::optional<std::string> damage_of_next_stage();

  // Return the number of pairs left out since the start because they do not fit a block or have too low a score.
  int64_t dropped() const { return dropped_; }
  int64_t below_score() const { return below_score_; }

  StepCursor cursor() const { return loader_->cursor(); }  // position of this rank's streams
  // Continues at a checkpoint's position `cursor`, which contains this rank's streams and is updated if the mix has
  // changed. Returns one line per change of the stages since then. Throws an Error of kind usage for a change that is
  // not allowed (StageRun::resume).
  std::vector<std::string> resume(const StageState& saved, StepCursor& cursor);

  // Returns the tokenizers that all corpora share: file name -> contents.
  const std::map<std::string, std::string>& tokenizers() const { return tokenizers_; }

 private:
  void start_loader(const StepCursor& cursor);

  const RunConfig config_;
  const Mesh& mesh_;
  StageRun stages_;
  std::map<std::string, std::string> tokenizers_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<CorpusVerifier> verifier_;  // for the corpora of the next stage
  int64_t dropped_ = 0, below_score_ = 0;
};

}  // namespace weft
