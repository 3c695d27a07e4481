// trainer/run/run_checkpoints.h: decides when to save, which checkpoints to keep, and what follows a failed save.
//
// Every rank owns a RunCheckpoints object and makes the same calls.
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

  // Continues from the newest checkpoint, which is in `folder`, and sets `run.state` to its state. Returns one line per
  // change of the data stages since that checkpoint.
  std::vector<std::string> resume(const std::string& folder);
  void link_newest();  // points `latest` to newest(), because an earlier start may have ended before it did so
  void snapshot() { files_.snapshot(run_.state); }
  const std::string& newest() const { return newest_; }  // folder of the last complete checkpoint, or ""

  bool is_due_by_clock() const;  // call it on the main rank
  // Requests a save of the current step, which starts when everything else that belongs to the step is done. With
  // `is_best`, the checkpoint becomes the best one.
  void want(bool is_best) { is_wanted_ = true, best_is_new_ = best_is_new_ || is_best; }
  bool is_wanted() const { return is_wanted_; }
  bool is_due() const;  // true if a save is requested, or due by train.save_every

  // Waits for the previous save and starts to save the current step. With `last`, also waits for the new save. A save
  // that fails for lack of space or access ends the run only if it is the last save. Otherwise a message reports the
  // failure, `state.best` is reset to the best saved checkpoint, and a new save is soon due.
  void save(bool last);
  // Call it after a step. Continues a save that is in progress, if all ranks are ready.
  void advance(const StepTotals& totals);
  void settle();  // waits for a save in progress, which is not committed if its model has diverged

  bool has(int64_t step) const;     // true if the step has a complete checkpoint; the same on all ranks
  void record_best(int64_t step);   // records that the step's checkpoint exists and is one of the best
  std::string newest_known_good();  // the newest checkpoint from before the divergence, or ""
  // Loads the parameters of the checkpoint, removes the checkpoints of later steps except the best one, and requests a
  // save of the current step.
  void go_back_to(const std::string& folder);

 private:
  void attempt(bool last, const std::function<void()>& part);
  void keep(const std::string& folder, bool is_best, int64_t good_until, const std::vector<int64_t>& needed);
  std::vector<int64_t> needed_steps() const;
  void finish();
  void advance_once();
  void await_writers();
  void require_links() const;  // throws an Error of kind io if the links of the newest checkpoint were not updated

  const RunContext& run_;
  const TrainConfig& config_;
  const std::string root_;
  std::string newest_;
  std::string not_linked_, not_pruned_;           // errors of keep(); empty if there are none
  std::string unlinked_best_;                     // the best checkpoint, until the link best points to it
  BestScore best_, best_when_saved_;              // best score at the newest checkpoint, and at the last started save
  int64_t saved_at_ = -1;                         // step of the last save, which may be in progress; -1 if it failed
  double seconds_at_save_ = 0, retry_at_ = 0;     // in seconds of training; retry_at_ is 0 unless the last save failed
  bool is_wanted_ = false, best_is_new_ = false;  // since the last save
  TrainingCheckpoints files_;                     // last member, because its threads use the members above
};

}  // namespace weft
