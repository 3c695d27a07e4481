// trainer/stages/stages.h: the stages of a run's data: what each trains on, and when it ends.
//
// A stage is a mix of corpora (data/order/mix.h) and an end: after so many steps, with the step that reaches a number
// of target tokens, or with the one in which a corpus has been gone through so often. So stages end between two steps,
// on every grid with the same one. A run with data.train alone has one stage without an end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/order/mix.h"
#include "trainer/config/run_config.h"

namespace weft {

struct StageEnd {  // of what is above 0: the first that comes
  int64_t steps = 0, target_tokens = 0, epochs = 0;
  std::string epochs_of;  // the folder
  bool exists() const { return steps > 0 || target_tokens > 0 || epochs > 0; }
};

struct Stage {
  std::string name;  // empty: of data.train
  std::vector<MixCorpus> corpora;
  StageEnd end;
  std::optional<ScheduleConfig> schedule;  // that begins with it
};

// Empty without data. An Error of kind usage names the option that is wrong; corpora are not opened.
std::vector<Stage> parse_stages(const RunConfig& config);
std::vector<std::string> training_folders(const std::vector<Stage>& stages);  // each once
std::string describe_end(const StageEnd& end);                                // "20000 steps", or "no end"

inline std::string schedule_section(const std::string& stage) { return "stage." + stage + ".schedule"; }

// What a plan knows. The steps from stage `first` to a stage, if all these end by steps alone; and the steps over which
// its schedule decays, if that names no decay_steps: those of the stage, or else all that are left to the run.
std::optional<int64_t> steps_before(const std::vector<Stage>& stages, size_t index, size_t first = 0);
std::optional<int64_t> steps_to_decay(const std::vector<Stage>& stages, size_t index, int64_t train_steps);

}  // namespace weft
