// trainer/stages/stage_run.h: the place of a run in the stages of its data: what it has done of the present one, when
// it goes to the next, and how it goes on from a checkpoint.
#pragma once

#include <cstdint>
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

struct StageSchedule {  // that holds now
  ScheduleConfig schedule;
  int64_t first_step = 0, total_steps = 0;
  std::string section = "schedule";  // its options: "schedule.lr", or "stage.NAME.schedule.lr"
};

// The stages of a run, and its place in them. The same on all ranks.
class StageRun {
 public:
  explicit StageRun(std::vector<Stage> stages);  // a new run; all corpora are open

  size_t index() const { return index_; }
  const std::vector<Stage>& stages() const { return stages_; }
  const Stage& stage() const { return stages_[index_]; }
  bool is_last() const { return index_ + 1 == stages_.size(); }
  const Mix& mix() const { return mix_; }                         // of the present stage
  int64_t first_step() const { return past_.back().first_step; }  // of the present stage: steps done before it

  bool has_mixes() const;  // in any stage

  void add_step(int64_t target_tokens, const std::vector<CorpusTotals>& corpora);  // of the mix, on all ranks
  bool is_over() const;
  StageSchedule schedule(const RunConfig& config) const;
  // To the next stage; the corpora stay where they are in `cursor`.
  void advance(StepCursor& cursor);

  // Where a new run begins: with as many streams as suit the stage with most pairs.
  StepCursor start(const BatchConfig& batch) const;

  int64_t last_step(int64_t train_steps) const;  // of the run, for certain at most
  // Where the stages end, as the pace of the present one leads one to expect; nothing if that is not known yet or
  // nowhere. It does not depend on train.steps.
  std::optional<int64_t> expected_end() const;

  // Goes on from a checkpoint. Stages that have begun must have the same names in the same order, those that are over
  // the same mix, and corpora that they use the same pairs: an Error of kind usage otherwise. The present stage may
  // have another end, or another mix, which starts at `cursor` then. Returns a line on each such change.
  std::vector<std::string> resume(const StageState& saved, StepCursor& cursor);
  StageState state() const;

 private:
  void number_corpora();
  void enter(size_t index, int64_t first_step);
  int64_t pairs_to_pass(const MixCorpus& corpus) const;
  double steps_left() const;  // of the present stage, as it has gone so far

  std::vector<Stage> stages_;       // their corpora have numbers
  std::vector<RunCorpus> corpora_;  // by number
  std::vector<PastStage> past_;
  size_t index_ = 0;
  Mix mix_;
  bool weighted_ = false;  // some corpus of the run has weights: all blocks hold them, as CUDA graphs need it
  int64_t steps_ = 0, target_tokens_ = 0;
  std::vector<int64_t> passed_;
};

}  // namespace weft
