// trainer/run/run_checkpoints.h: decides when checkpoints are due, which are kept, and what follows a failed save.
//
// Every rank owns one and makes the same calls.
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

  // Continues from a checkpoint, which is the newest, and sets `run.state` to its state. Returns one line per change of
  // the data's stages since then.
  std::vector<std::string> resume(const std::string& folder);
  void link_newest();  // as `latest`, because an earlier start may have ended between the commit and the link
  void snapshot() { files_.snapshot(run_.state); }
  const std::string& newest() const { return newest_; }  // folder of this run's last complete one; may be empty

  bool is_due_by_clock() const;  // on the main rank
  // Saves the current step once everything that belongs to it is done, even if no other rule asks for it. `is_best`: it
  // becomes the best one.
  void want(bool is_best) { is_wanted_ = true, best_is_new_ = best_is_new_ || is_best; }
  bool is_wanted() const { return is_wanted_; }
  bool is_due() const;  // because it is wanted, or by train.save_every

  // Starts to save the current step after the save before it has ended. `last`: waits for it. A save that fails for
  // lack of space or access ends the run only if it is the last. Otherwise earlier checkpoints are kept, a message
  // reports it, and another save is soon due. Then `state.best` is again the best one that was saved.
  void save(bool last);
  // Call it after a step. Continues a save that is in progress, if all ranks are ready.
  void advance(const StepTotals& totals);
  void settle();  // waits for a save in progress, which is not committed if its model has diverged

  bool has(int64_t step) const;     // a complete checkpoint of the step; the same on all ranks
  void record_best(int64_t step);   // records that it exists and is now one of the best
  std::string newest_known_good();  // the newest one before the run began to diverge; "" if there is none
  // Loads its parameters, removes later steps' checkpoints except the best, and requests a save of the current step.
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
  BestScore best_, best_when_saved_;              // for the newest checkpoint; for the one in progress
  int64_t saved_at_ = -1;                         // step; may still be in progress
  double seconds_at_save_ = 0, retry_at_ = 0;     // in seconds of training; retry_at_ is 0 unless the last save failed
  bool is_wanted_ = false, best_is_new_ = false;  // since the last save
  TrainingCheckpoints files_;                     // last member, because its threads call the others
};

}  // namespace weft
