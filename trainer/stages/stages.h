// trainer/stages/stages.h: the stages of a run's data: what each trains on, and when it ends.
//
// A stage is a mix of corpora (data/order/mix.h) and an end: after a number of steps, with the step that reaches a
// number of target tokens, or with the step in which a corpus completes a number of epochs. Stages therefore end
// between two steps, the same on every grid. A run with only data.train has one stage without an end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/order/mix.h"
#include "trainer/config/run_config.h"

namespace weft {

struct StageEnd {  // limits, 0 if not set; the first limit reached ends the stage
  int64_t steps = 0, target_tokens = 0, epochs = 0;
  std::string epochs_of;  // folder of the corpus whose epochs count
  bool exists() const { return steps > 0 || target_tokens > 0 || epochs > 0; }
};

struct Stage {
  std::string name;  // empty: data.train
  std::vector<MixCorpus> corpora;
  StageEnd end;
  std::optional<ScheduleConfig> schedule;  // starts with the stage
};

// Returns the stages; empty without data. Throws an Error of kind usage that names a wrong option. Opens no corpora.
std::vector<Stage> parse_stages(const RunConfig& config);
std::vector<std::string> training_folders(const std::vector<Stage>& stages);  // without repetitions
std::string describe_end(const StageEnd& end);                                // "20000 steps", or "no end"

inline std::string schedule_section(const std::string& stage) { return "stage." + stage + ".schedule"; }

// Return, if known before the run, the steps from stage `first` to stage `index`, which only `steps` may end; and the
// steps over which a schedule of stage `index` without decay_steps decays: the stage's steps, or all that remain.
std::optional<int64_t> steps_before(const std::vector<Stage>& stages, size_t index, size_t first = 0);
std::optional<int64_t> steps_to_decay(const std::vector<Stage>& stages, size_t index, int64_t train_steps);

}  // namespace weft
