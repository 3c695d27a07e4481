// trainer/run/run_checkpoints.h: a run's checkpoints: when one is due, which are kept, and what follows a save that
// fails.
//
// Every rank has one and makes the same calls.
#pragma once

#include <functional>
#include <string>

#include "trainer/run/run_log.h"
#include "trainer/trainer.h"

namespace weft {

class RunCheckpoints {
 public:
  // Under train.output of `config`, whose text each checkpoint takes.
  RunCheckpoints(const RunConfig& config, std::string config_text, Communicator& world, Trainer& trainer, RunLog& log);

  void resume_from(const std::string& folder, const TrainState& state);  // the newest
  const std::string& newest() const { return newest_; }  // the folder of the last whole one of this run; may be empty
  bool is_due(const TrainState& state) const;            // by the clock; of the main rank

  // Starts to save `state` after the save before it has ended. With `is_best` the link `best` will point to it. `last`:
  // waits for it. A save that fails for want of room or access ends the run only if it is the last: otherwise the
  // checkpoints before it are kept, a message says so, and another one is soon due.
  // Then `state.best` is again the best one that was saved. `awaited`: steps whose checkpoints may become the best.
  void save(TrainState& state, bool is_best, bool last, const std::vector<int64_t>& awaited = {});
  bool has(int64_t step) const;                         // a whole checkpoint of the step; the same on all ranks
  void note_best(int64_t step, const BestScore& best);  // that it has, and that is one of the best now
  void advance(TrainState& state);                      // after a step whose report says that the save is ready
  void finish(TrainState& state);                       // waits for a save that is in progress

  void go_back_to(const std::string& folder);  // removes the checkpoints of later steps, except the best

 private:
  void attempt(TrainState& state, bool last, const std::function<void()>& part);
  void keep(const std::string& folder, bool is_best, int64_t good_until, const std::vector<int64_t>& needed);
  void advance_once();

  const TrainConfig config_;
  const std::string config_text_, root_;
  Communicator& world_;
  Trainer& trainer_;
  RunLog& log_;
  std::string newest_, not_pruned_;
  BestScore best_, best_when_saved_;           // of the newest checkpoint, and of the one in progress
  int64_t saved_at_ = -1;                      // step; may still be in progress
  double seconds_at_save_ = 0, retry_at_ = 0;  // seconds of training; retry_at_ 0: the last save has not failed
};

}  // namespace weft
