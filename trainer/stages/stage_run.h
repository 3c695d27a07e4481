// trainer/stages/stage_run.h: tracks the progress of a run in the stages of its data, decides when a stage is over, and
// continues from a checkpoint.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "data/order/mix.h"
#include "data/order/step_plan.h"
#include "trainer/config/run_config.h"
#include "trainer/stages/stage_state.h"
#include "trainer/stages/stages.h"
#include "trainer/step/corpus_losses.h"

namespace weft {

struct StageSchedule {  // the current schedule
  ScheduleConfig schedule;
  int64_t first_step = 0;
  double total_steps = 0;            // expected ones, from first_step on
  std::string section = "schedule";  // section of its options, for example "stage.NAME.schedule"
};

// The stages of a run and the run's position in them. They are the same on all ranks.
class StageRun {
 public:
  explicit StageRun(std::vector<Stage> stages);  // starts a new run; REQUIRES: all corpora are open

  size_t index() const { return index_; }
  const std::vector<Stage>& stages() const { return stages_; }
  const Stage& stage() const { return stages_[index_]; }
  bool is_last() const { return index_ + 1 == stages_.size(); }
  const Mix& mix() const { return mix_; }                         // mix of the current stage
  int64_t first_step() const { return past_.back().first_step; }  // steps done before the current stage

  bool has_mixes() const;  // true if any stage mixes corpora
  // Returns the folders of the current mix, as the options spelled them when the run first used them.
  std::vector<std::string> folders() const;

  void add_step(int64_t target_tokens, const std::vector<CorpusTotals>& corpora);  // with the totals of all ranks
  bool is_over() const;
  // Expects the run to end when `share` of train.minutes becomes 1 at the pace of the steps so far. All ranks call it
  // with the same value.
  void set_clock(double share);
  StageSchedule schedule(const RunConfig& config) const;
  // Enters the next stage. The corpora keep their positions in `cursor`.
  void advance(StepCursor& cursor);

  // Returns the cursor at which a new run starts. Its number of streams suits the stage with the most pairs.
  StepCursor start(const BatchConfig& batch) const;

  // Returns an upper bound of the run's last step. If `train_steps` is 0, because train.epochs end the run, returns the
  // step after which they are expected to end, or 0 before the first step.
  int64_t last_step(int64_t train_steps) const;
  // Returns the step after which the last stage is expected to end at the pace of the current stage; nullopt if the end
  // is unknown or the last stage has no end. Does not depend on train.steps.
  std::optional<int64_t> expected_end() const;

  // Continues from a checkpoint. Throws an Error of kind usage unless started stages keep their names and order,
  // finished stages keep their mix, and corpora that were used keep their pairs. The current stage may get a different
  // end, or a different mix, which then starts at `cursor`. Returns one line for the user per change.
  std::vector<std::string> resume(const StageState& saved, StepCursor& cursor);
  StageState state() const;

 private:
  void number_corpora();
  void enter(size_t index, int64_t first_step);
  int64_t pairs_to_pass(const MixCorpus& corpus) const;
  double steps_left() const;  // estimate for the current stage
  int64_t num_steps() const { return first_step() + steps_; }

  std::vector<Stage> stages_;       // their corpora are numbered
  std::vector<RunCorpus> corpora_;  // indexed by corpus number
  std::vector<PastStage> past_;
  size_t index_ = 0;
  Mix mix_;
  bool weighted_ = false;  // true if any corpus has weights; then all blocks have weights, as CUDA graphs require
  int64_t steps_ = 0, target_tokens_ = 0;
  std::vector<int64_t> passed_;
  double end_by_clock_ = std::numeric_limits<double>::infinity();  // step of the run
};

}  // namespace weft
