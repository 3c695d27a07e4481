// launch/start/restart_policy.h: whether a training run that ended is started again, and after which pause.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct RunProgress {
  std::string checkpoint;  // name of the newest one, "step-00001200"; empty: none
  int64_t step = 0;        // the last one in the log
  bool operator==(const RunProgress&) const = default;
};

RunProgress progress_of(const std::string& run_folder);
int64_t last_step_in(std::string_view log_end);  // of the last whole record of the end of a log.jsonl; 0: none

// Failures after which the same command can go on: a lost rank or host, a crash. Not an error of usage, data,
// checkpoints or output, not a diverged run, and not a stop by a signal (docs/reliability.md).
bool may_go_on(int status);

class RestartPolicy {
 public:
  explicit RestartPolicy(int restarts) : left_(restarts) {}

  // After an end with this status. A run that failed twice after the same step and checkpoint would fail again.
  struct Decision {
    bool again = false;
    double pause = 0;    // seconds before the next start: 1, 2, 4, ... 60; 1 again after a checkpoint was saved
    std::string reason;  // a line for the user; empty: nothing to say
  };
  Decision after(int status, const RunProgress& progress);
  // After an attempt that started no ranks, since hosts did not answer: they may do so later. It is one of the
  // restarts.
  Decision after_no_start();

 private:
  void pause_longer();

  int left_;
  double pause_ = 0;
  std::optional<RunProgress> last_failure_;
};

// Ranks that a run can have on `slots`: as many as wanted, else as many groups of tp ranks as there is room for. An
// Error of kind peer if that is none.
int ranks_that_fit(int wanted, int slots, int64_t tp);

}  // namespace weft
