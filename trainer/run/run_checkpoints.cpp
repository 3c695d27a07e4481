// trainer/run/run_checkpoints.cpp: starts saves, follows them, and tries again.
#include "trainer/run/run_checkpoints.h"

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {
namespace {

constexpr double kSecondsToRetry = 60;  // of training, after a save that failed

}  // namespace

RunCheckpoints::RunCheckpoints(const RunConfig& config, std::string config_text, Communicator& world, Trainer& trainer,
                               RunLog& log)
    : config_(config.train),
      config_text_(std::move(config_text)),
      root_(config_.output + "/checkpoints"),
      world_(world),
      trainer_(trainer),
      log_(log) {}

void RunCheckpoints::resume_from(const std::string& folder, const TrainState& state) {
  newest_ = folder, best_ = state.best, saved_at_ = state.step, seconds_at_save_ = state.seconds;
  all_or_none(world_, [&] {  // an earlier start may have ended between the commit and the link
    if (world_.is_main_rank()) point_to(root_, "latest", folder);
  });
}

bool RunCheckpoints::is_due(const TrainState& state) const {
  const double after = 60 * config_.save_minutes;
  return (after > 0 && state.seconds - seconds_at_save_ >= after) || (retry_at_ > 0 && state.seconds >= retry_at_);
}

void RunCheckpoints::save(TrainState& state, bool is_best, bool last, const std::vector<int64_t>& awaited) {
  const BestScore best = state.best;
  finish(state);
  if (is_best || best.kept.contains(state.step)) state.best = best;
  std::vector<int64_t> needed = awaited;
  for (const auto& [step, value] : state.best.kept) needed.push_back(step);
  if (saved_at_ == state.step) {
    all_or_none(world_, [&] {
      if (is_best && world_.is_main_rank()) keep(newest_, is_best, state.divergence.good_until, needed);
    });
    return;
  }
  const auto start = [&] {
    all_or_none(world_, [&] { log_.flush(); });  // the log of a checkpoint is complete up to its step
    trainer_.start_save(
        root_, state, config_text_,
        [this, is_best, good_until = state.divergence.good_until, needed](const std::string& folder) {
          keep(folder, is_best, good_until, needed);
        },
        /*yields=*/!last);
  };
  saved_at_ = state.step, seconds_at_save_ = state.seconds, retry_at_ = 0;
  best_when_saved_ = state.best;
  attempt(state, last, start);
  while (last && trainer_.saver().in_progress()) attempt(state, last, [&] { advance_once(); });
}

void RunCheckpoints::advance(TrainState& state) {
  attempt(state, /*last=*/false, [&] { advance_once(); });
}

void RunCheckpoints::finish(TrainState& state) {
  while (trainer_.saver().in_progress()) advance(state);
}

void RunCheckpoints::go_back_to(const std::string& folder) {
  all_or_none(world_, [&] {
    if (!world_.is_main_rank()) return;
    point_to(root_, "latest", folder);
    remove_checkpoints_after(root_, folder);
  });
  newest_ = folder;
}

bool RunCheckpoints::has(int64_t step) const {
  return world_.max(world_.is_main_rank() && has_checkpoint(root_, step) ? 1 : 0) == 1;
}

void RunCheckpoints::note_best(int64_t step, const BestScore& best) {
  all_or_none(world_, [&] {
    if (best.step == step && world_.is_main_rank()) point_to(root_, "best", root_ + "/" + step_folder_name(step));
  });
  best_ = best_when_saved_ = best;
}

void RunCheckpoints::attempt(TrainState& state, bool last, const std::function<void()>& part) {
  try {
    part();
  } catch (const Error& e) {
    saved_at_ = -1;
    state.best = best_;  // a model that was not saved cannot be the best
    if (e.kind() != ErrorKind::io || last) throw;
    retry_at_ = state.seconds + kSecondsToRetry;
    log_.message(fmt::format("NOT SAVED: {}; training goes on and tries again in {:.0f} s; the newest checkpoint is {}",
                             e.what(), kSecondsToRetry, newest_.empty() ? "none" : newest_));
  }
}

// On the main rank, in a thread.
void RunCheckpoints::keep(const std::string& folder, bool is_best, int64_t good_until,
                          const std::vector<int64_t>& needed) {
  point_to(root_, "latest", folder);
  if (is_best) point_to(root_, "best", folder);
  try {
    prune_checkpoints(root_, config_.keep_last, config_.keep_every, good_until, needed);
  } catch (const Error& e) {  // the new one is saved all the same
    not_pruned_ = e.what();
  }
}

void RunCheckpoints::advance_once() {
  if (const auto folder = trainer_.saver().advance()) {
    newest_ = *folder, best_ = best_when_saved_;
    log_.message(fmt::format("saved {}", newest_));
    if (!not_pruned_.empty()) log_.message("old checkpoints stay: " + std::exchange(not_pruned_, ""));
  }
}

}  // namespace weft
