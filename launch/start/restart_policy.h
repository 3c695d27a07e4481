// launch/start/restart_policy.h: decides whether and when a training run is restarted after it has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct RunProgress {
  std::string checkpoint;  // name of the newest checkpoint, "step-00001200"; empty: none
  int64_t step = 0;        // last step in the log
  bool operator==(const RunProgress&) const = default;
};

RunProgress progress_of(const std::string& run_folder);
int64_t last_step_in(std::string_view log_end);  // step of the last complete record; 0: none

// True after failures from which the same command can resume: a lost rank or host, or a crash. False after errors of
// usage, data, checkpoints or output, after divergence, and after a stop by a signal (docs/reliability.md).
bool may_go_on(int status);

class RestartPolicy {
 public:
  explicit RestartPolicy(int restarts) : left_(restarts) {}

  // Decides after the run ended with `status`. Gives up a run that failed twice after the same step and checkpoint.
  struct Decision {
    bool again = false;
    double pause = 0;    // seconds before the next start: 1, 2, 4, ... 60; 1 again after a checkpoint was saved
    std::string reason;  // a line for the user; may be empty
  };
  Decision after(int status, const RunProgress& progress);
  // Decides after an attempt that started no ranks because hosts did not answer. The attempt counts as a restart.
  Decision after_no_start();

 private:
  void pause_longer();

  int left_;
  double pause_ = 0;
  std::optional<RunProgress> last_failure_;
};

// Returns the number of ranks for `slots`: `wanted`, or fewer in groups of tp. Error of kind peer if no group fits.
int ranks_that_fit(int wanted, int slots, int64_t tp);

}  // namespace weft
