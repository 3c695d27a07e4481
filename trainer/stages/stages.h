// trainer/stages/stages.h: defines the stages of a run's data: what each stage trains on, and when it ends.
//
// A stage has a mix of corpora (data/order/mix.h) and up to three limits: a number of steps, of target tokens, or of
// epochs of one corpus. It ends after the step that reaches the first limit, which is the same step on every grid. A
// run with only data.train has one stage, which train.epochs ends.
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

// Returns the stages, or none without data. Throws an Error of kind usage that names the wrong option. Opens no
// corpora.
std::vector<Stage> parse_stages(const RunConfig& config);
std::vector<std::string> training_folders(const std::vector<Stage>& stages);  // each folder once
std::string describe_end(const StageEnd& end);                                // for example "20000 steps" or "no end"

inline std::string schedule_section(const std::string& stage) { return "stage." + stage + ".schedule"; }

// steps_before() counts the steps from the start of stage `first` to the start of stage `index`. steps_to_decay()
// counts the steps over which a schedule of stage `index` decays by default: the steps of that stage or, if it has no
// such limit, all remaining steps. Both return nullopt if the count is unknown before the run.
std::optional<int64_t> steps_before(const std::vector<Stage>& stages, size_t index, size_t first = 0);
std::optional<int64_t> steps_to_decay(const std::vector<Stage>& stages, size_t index, int64_t train_steps);

}  // namespace weft
