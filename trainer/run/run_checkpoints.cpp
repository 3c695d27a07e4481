// trainer/run/run_checkpoints.cpp: starts and tracks saves, and retries failed saves.
#include "trainer/run/run_checkpoints.h"

#include <chrono>
#include <thread>
#include <utility>

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {
namespace {

constexpr double kSecondsToRetry = 60;  // seconds of training after a failed save

}  // namespace

RunCheckpoints::RunCheckpoints(const RunContext& run)
    : run_(run),
      config_(run.config().train),
      root_(run.checkpoints_folder()),
      files_(run.config(), run.mesh, run.trainer, run.data) {}

std::vector<std::string> RunCheckpoints::resume(const std::string& folder) {
  std::vector<std::string> changes;
  run_.state = files_.resume(folder, changes);
  newest_ = folder, best_ = run_.state.best, saved_at_ = run_.state.step, seconds_at_save_ = run_.state.seconds;
  return changes;
}

void RunCheckpoints::link_newest() {
  all_or_none(run_.world(), [&] {
    if (run_.is_main_rank()) point_to(root_, "latest", newest_);
  });
}

bool RunCheckpoints::is_due_by_clock() const {
  const double after = 60 * config_.save_minutes, now = run_.state.seconds;
  return (after > 0 && now - seconds_at_save_ >= after) || (retry_at_ > 0 && now >= retry_at_);
}

bool RunCheckpoints::is_due() const {
  return is_wanted_ || (config_.save_every > 0 && run_.state.step % config_.save_every == 0);
}

// Returns the steps of the best checkpoints, and the steps whose scores are still awaited.
std::vector<int64_t> RunCheckpoints::needed_steps() const {
  std::vector<int64_t> steps;
  if (run_.best_rule().needs_score())
    for (const ScoreDue& due : run_.state.scores_due) steps.push_back(due.step);
  for (const auto& [step, value] : run_.state.best.kept) steps.push_back(step);
  return steps;
}

void RunCheckpoints::save(bool last) {
  TrainState& state = run_.state;
  const BestScore best = state.best;
  const bool is_best = std::exchange(best_is_new_, false);
  is_wanted_ = false;
  run_.require_folder();
  finish();
  if (is_best || best.kept.contains(state.step)) state.best = best;
  const std::vector<int64_t> needed = needed_steps();
  if (saved_at_ == state.step) {
    all_or_none(run_.world(), [&] {
      if (is_best && run_.is_main_rank()) keep(newest_, is_best, state.divergence.good_until, needed);
      require_links();
    });
    return;
  }
  const auto start = [&] {
    all_or_none(run_.world(), [&] { run_.log.flush(); });  // so that the log is complete up to the checkpoint's step
    files_.start_save(
        root_, state, run_.prepared.config_text,
        [this, is_best, good_until = state.divergence.good_until, needed](const std::string& folder) {
          keep(folder, is_best, good_until, needed);
        },
        /*yields=*/!last);
  };
  saved_at_ = state.step, seconds_at_save_ = state.seconds, retry_at_ = 0;
  best_when_saved_ = state.best;
  attempt(last, start);
  if (!last) return;
  while (files_.saver().in_progress()) attempt(last, [&] { advance_once(); });
  all_or_none(run_.world(), [&] { require_links(); });
}

void RunCheckpoints::require_links() const {
  if (!not_linked_.empty())
    fail(ErrorKind::io,
         fmt::format("{} is saved, but the links latest and best were not updated: {}", newest_, not_linked_));
}

void RunCheckpoints::advance(const StepTotals& totals) {
  if (files_.saver().in_progress() && !totals.save_goes_on) attempt(/*last=*/false, [&] { advance_once(); });
}

void RunCheckpoints::finish() {
  while (files_.saver().in_progress()) attempt(/*last=*/false, [&] { advance_once(); });
}

void RunCheckpoints::settle() {
  try {
    finish();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::diverged) throw;
  }
}

std::string RunCheckpoints::newest_known_good() {
  run_.require_folder();
  std::string good;
  all_or_none(run_.world(), [&] {
    if (run_.is_main_rank()) good = newest_whole_checkpoint_until(root_, run_.state.divergence.good_until);
  });
  return run_.world().broadcast_string(good, /*root=*/0);
}

void RunCheckpoints::go_back_to(const std::string& folder) {
  all_or_none(run_.world(), [&] { files_.go_back_to(folder); });
  all_or_none(run_.world(), [&] {
    if (!run_.is_main_rank()) return;
    point_to(root_, "latest", folder);
    remove_checkpoints_after(root_, folder);
  });
  newest_ = folder;
  is_wanted_ = true, best_is_new_ = false;
  unlinked_best_.clear();
}

bool RunCheckpoints::has(int64_t step) const {
  return run_.world().max(run_.is_main_rank() && has_checkpoint(root_, step) ? 1 : 0) == 1;
}

void RunCheckpoints::record_best(int64_t step) {
  const BestScore& best = run_.state.best;
  run_.require_folder();
  all_or_none(run_.world(), [&] {
    if (best.step == step && run_.is_main_rank()) point_to(root_, "best", root_ + "/" + step_folder_name(step));
  });
  best_ = best_when_saved_ = best;
}

void RunCheckpoints::attempt(bool last, const std::function<void()>& part) {
  try {
    part();
  } catch (const Error& e) {
    saved_at_ = -1;
    run_.state.best = best_;                               // a model that was not saved cannot be the best
    if (e.kind() == ErrorKind::io) run_.require_folder();  // names the cause of the failure
    if (e.kind() != ErrorKind::io || last) throw;
    retry_at_ = run_.state.seconds + kSecondsToRetry;
    run_.log.message(
        fmt::format("NOT SAVED: {}; training continues and tries again in {:.0f} s; the newest checkpoint is {}",
                    e.what(), kSecondsToRetry, newest_.empty() ? "none" : newest_));
  }
}

// A thread of the main rank calls it once the new checkpoint is complete.
void RunCheckpoints::keep(const std::string& folder, bool is_best, int64_t good_until,
                          const std::vector<int64_t>& needed) {
  run_.folder->require_own();
  if (is_best) unlinked_best_ = folder;
  not_linked_.clear();
  try {
    point_to(root_, "latest", folder);
    if (!unlinked_best_.empty()) point_to(root_, "best", unlinked_best_);
    unlinked_best_.clear();
  } catch (const Error& e) {  // the new checkpoint is complete nevertheless
    not_linked_ = e.what();
    return;  // pruning goes by the links
  }
  try {
    prune_checkpoints(root_, config_.keep_last, config_.keep_every, good_until, needed);
  } catch (const Error& e) {
    not_pruned_ = e.what();
  }
}

// Waits until all ranks have written, in many short collectives, because a slow disk must not count as a rank that
// hangs (parallel.timeout).
void RunCheckpoints::await_writers() {
  while (run_.world().max(files_.saver().is_ready() ? 0 : 1) == 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void RunCheckpoints::advance_once() {
  await_writers();
  if (const auto folder = files_.saver().advance()) {
    newest_ = *folder, best_ = best_when_saved_;
    run_.log.message(fmt::format("saved {}", newest_));
    if (!not_linked_.empty())
      run_.log.message(
          fmt::format("the links latest and best were not updated, and the next save tries again: {}", not_linked_));
    if (!not_pruned_.empty()) run_.log.message("old checkpoints were not removed: " + std::exchange(not_pruned_, ""));
  }
}

}  // namespace weft
