// trainer/stages/stages.h: the stages of a run's data: what each trains on, and when it ends.
//
// A stage is a mix of corpora (data/order/mix.h) and an end: after a number of steps, with the step that reaches a
// number of target tokens, or with the step in which a corpus completes a number of epochs. So stages end between two
// steps, the same ones on every grid. A run with only data.train has one stage without an end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/order/mix.h"
#include "trainer/config/run_config.h"

namespace weft {

struct StageEnd {  // values above 0; the first limit reached ends it
  int64_t steps = 0, target_tokens = 0, epochs = 0;
  std::string epochs_of;  // that corpus's folder
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
std::vector<std::string> training_folders(const std::vector<Stage>& stages);  // each once
std::string describe_end(const StageEnd& end);                                // "20000 steps", or "no end"

inline std::string schedule_section(const std::string& stage) { return "stage." + stage + ".schedule"; }

// These return what is known before the run: the steps from stage `first` to a stage, if only steps end these stages;
// and the steps over which its schedule decays without decay_steps: the stage's, or otherwise all that remain.
std::optional<int64_t> steps_before(const std::vector<Stage>& stages, size_t index, size_t first = 0);
std::optional<int64_t> steps_to_decay(const std::vector<Stage>& stages, size_t index, int64_t train_steps);

}  // namespace weft
