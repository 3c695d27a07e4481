// launch/start/restart_policy.cpp: decides by the exit status of the ranks and the progress of the run.
#include "launch/start/restart_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <fstream>

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"

namespace weft {
namespace {

constexpr double kShortestPause = 1, kLongestPause = 60;

std::string end_of_file(const std::string& path) {
  constexpr std::streamoff kMax = 1 << 20;  // enough for the record of a validation, which contains sentences
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? static_cast<std::streamoff>(in.tellg()) : 0;
  std::string text(static_cast<size_t>(std::min(size, kMax)), '\0');
  in.seekg(size - static_cast<std::streamoff>(text.size()));
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

std::string text_of(const RunProgress& p) {
  return fmt::format("after step {}, newest checkpoint {}", p.step, p.checkpoint.empty() ? "none" : p.checkpoint);
}

}  // namespace

int64_t last_step_in(std::string_view log_end) {
  constexpr std::string_view kBegin = "{\"step\":";
  const size_t end = log_end.rfind('\n');
  if (end == std::string_view::npos) return 0;
  const size_t line = end == 0 ? std::string_view::npos : log_end.rfind('\n', end - 1);
  const std::string_view record = log_end.substr(line + 1, end - line - 1);  // npos + 1 is 0
  int64_t step = 0;
  if (record.starts_with(kBegin)) std::from_chars(record.data() + kBegin.size(), record.data() + record.size(), step);
  return step;
}

RunProgress progress_of(const std::string& run_folder) {
  return {.checkpoint = pointed_at(run_folder + "/checkpoints", "latest").value_or(""),
          .step = last_step_in(end_of_file(run_folder + "/log.jsonl"))};
}

bool may_go_on(int status) {
  using enum ErrorKind;
  for (const ErrorKind kind : {usage, data, checkpoint, io, diverged})
    if (status == static_cast<int>(kind)) return false;
  for (const int signal : {SIGHUP, SIGINT, SIGUSR2, SIGTERM, SIGXCPU})
    if (status == 128 + signal) return false;
  return status != 0;
}

RestartPolicy::Decision RestartPolicy::after(int status, const RunProgress& progress) {
  if (!may_go_on(status)) return {};
  const std::string failed = fmt::format("the run failed with status {} {}", status, text_of(progress));
  const bool first = !last_failure_, saved = first || progress.checkpoint != last_failure_->checkpoint;
  if (!saved && progress.step == last_failure_->step)
    return {.reason = fmt::format("{}; it failed twice at this point, so it is not restarted", failed)};
  if (left_ == 0)
    return {.reason = failed + (first ? "; repeat the command to resume the run, or add --restarts K to restart it"
                                      : "; no restarts are left (--restarts)")};
  --left_;
  if (saved) pause_ = 0;
  pause_longer();
  last_failure_ = progress;
  return {.again = true, .pause = pause_, .reason = fmt::format("{}; restarting in {} s", failed, pause_)};
}

RestartPolicy::Decision RestartPolicy::after_no_start() {
  if (left_ == 0) return {.reason = "no ranks were started, and no restarts are left (--restarts)"};
  --left_;
  pause_longer();
  return {.again = true, .pause = pause_, .reason = fmt::format("no ranks were started; retrying in {} s", pause_)};
}

void RestartPolicy::pause_longer() { pause_ = std::clamp(2 * pause_, kShortestPause, kLongestPause); }

int ranks_that_fit(int wanted, int slots, int64_t tp) {
  if (slots >= wanted) return wanted;
  const int64_t dp = tp > 0 ? slots / tp : 0;
  if (dp < 1) fail(ErrorKind::peer, fmt::format("only {} slots are left, fewer than parallel.tp = {}", slots, tp));
  return static_cast<int>(dp * tp);
}

}  // namespace weft
