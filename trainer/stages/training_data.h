// trainer/stages/training_data.h: reads the training steps of one rank. It opens the corpora of all stages, reads the
// corpora of the current stage, and keeps the position in them.
//
// Every rank owns a TrainingData object and makes the same calls after the same steps.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "data/shards/corpus_verifier.h"
#include "parallel/mesh.h"
#include "trainer/stages/stage_run.h"
#include "trainer/step/step_totals.h"

namespace weft {

class TrainingData {
 public:
  // Opens the data of a new run. Pairs that are appended to a corpus later are not read. REQUIRES: `config` and
  // `stages` are resolved (trainer/plan/resolve.h).
  TrainingData(const RunConfig& config, std::vector<Stage> stages, const Mesh& mesh);

  // Returns this rank's part of the next step. If the current stage is over, first enters the next stage. Waits for the
  // thread that reads ahead, and throws the Error of that thread, if any.
  Step next();
  double rate(int64_t step) const;                            // learning rate of step 0, 1, ... of the run
  void add(const StepTotals& of_step);                        // counts a step from the totals of all ranks
  void set_clock(double share) { stages_.set_clock(share); }  // after resume(): the share of train.minutes that is over
  const StageRun& stages() const { return stages_; }
  bool is_over() const { return stages_.is_last() && stages_.is_over(); }
  bool stage_is_over() const { return stages_.is_over() && !stages_.is_last(); }
  // Throws an Error, and changes nothing, if a file of the next stage is missing or damaged. Call it after the last
  // step of a stage.
  void require_next_stage();
  void enter_next_stage();
  // Describes a file of the next stage that the background check found missing or damaged. Reports each file once.
  std::optional<std::string> damage_of_next_stage();

  // Return how many pairs were left out since the start, because they were too long or scored below min_score.
  int64_t dropped() const { return dropped_; }
  int64_t below_score() const { return below_score_; }

  StepCursor cursor() const { return loader_->cursor(); }  // position of this rank's streams
  // Continues at a checkpoint's position `cursor`, which contains this rank's streams and is updated if the mix has
  // changed. Returns one line per change of the stages since the checkpoint. Throws an Error of kind usage for a change
  // that is not allowed (StageRun::resume).
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
