// trainer/run/run_checkpoints.h: a run's checkpoints: when one is due, which are kept, and what follows a save that
// fails.
//
// Every rank has one and makes the same calls.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/run/run_context.h"
#include "trainer/training_checkpoints.h"

namespace weft {

class RunCheckpoints {
 public:
  explicit RunCheckpoints(const RunContext& run);

  // Continues from a checkpoint, which is the newest: `run.state` becomes its own. Returns what of the data's stages
  // has changed since, one line each.
  std::vector<std::string> resume(const std::string& folder);
  void link_newest();  // as `latest`: an earlier start may have ended between the commit and the link
  void snapshot() { files_.snapshot(run_.state); }
  const std::string& newest() const { return newest_; }  // the folder of the last whole one of this run; may be empty

  bool is_due_by_clock() const;  // on the main rank
  // Saves the present step when all that belongs to it is done, also if no other rule asks for it. `is_best`: it
  // becomes the best one.
  void want(bool is_best) { is_wanted_ = true, best_is_new_ = best_is_new_ || is_best; }
  bool is_wanted() const { return is_wanted_; }
  bool is_due() const;  // because it is wanted, or by train.save_every

  // Starts to save the present step after the save before it has ended. `last`: waits for it. A save that fails for
  // want of room or access ends the run only if it is the last: otherwise the checkpoints before it are kept, a message
  // says so, and another one is soon due. Then `state.best` is again the best one that was saved.
  void save(bool last);
  // After a step: goes on with a save that is in progress, if all ranks are ready.
  void advance(const StepTotals& totals);
  void settle();  // waits for a save that is in progress; if its model has diverged, it is not committed

  bool has(int64_t step) const;     // a whole checkpoint of the step; the same on all ranks
  void record_best(int64_t step);   // that it has, and that is one of the best now
  std::string newest_known_good();  // the newest one before the run began to diverge; empty if there is none
  // Takes its parameters, removes the checkpoints of later steps, except the best, and wants the present step anew.
  void go_back_to(const std::string& folder);

 private:
  void attempt(bool last, const std::function<void()>& part);
  void keep(const std::string& folder, bool is_best, int64_t good_until, const std::vector<int64_t>& needed);
  std::vector<int64_t> needed_steps() const;
  void finish();
  void advance_once();

  const RunContext& run_;
  const TrainConfig& config_;
  const std::string root_;
  std::string newest_, not_pruned_;
  BestScore best_, best_when_saved_;              // of the newest checkpoint, and of the one in progress
  int64_t saved_at_ = -1;                         // step; may still be in progress
  double seconds_at_save_ = 0, retry_at_ = 0;     // seconds of training; retry_at_ 0: the last save has not failed
  bool is_wanted_ = false, best_is_new_ = false;  // since the last save
  TrainingCheckpoints files_;                     // the last member: its threads call the others
};

}  // namespace weft
