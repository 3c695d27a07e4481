// trainer/run/resume_report.cpp: sentences about the place of a run in its data, and about options that changed.
#include "trainer/run/resume_report.h"

#include <fmt/format.h>

#include "data/atomic_file.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/plan/config_difference.h"

namespace weft {

std::vector<std::string> describe_resume(const std::string& checkpoint, const RunConfig& config,
                                         const std::string& config_text, const Trainer& trainer,
                                         const TrainState& state) {
  const StageRun& stages = trainer.stages();
  const auto corpus = static_cast<size_t>(stages.mix().parts.front().corpus);
  const StreamCursor& place = state.cursor.streams.at(state.cursor.next_stream);  // the main rank has this stream
  const int64_t epoch = corpus < place.corpora.size() ? place.corpora[corpus].epoch : 0;
  std::vector<std::string> lines = {
      fmt::format("resuming from {}: step {}, {}epoch {}", checkpoint, state.step,
                  stages.stages().size() == 1 ? "" : fmt::format("stage {}, ", stages.index() + 1), epoch)};
  for (const std::string& change : trainer.changes_of_stages()) lines.push_back(change);
  // All other changes were refused.
  for (const ChangedOption& o : config_differences(read_file(checkpoint + "/config.cfg"), config_text))
    lines.push_back(fmt::format("changed since that checkpoint: {} = {} (was {})", o.name, o.to, o.from));
  const bool has_ema = config.train.ema > 0;
  if (has_ema != has_average(checkpoint))
    lines.emplace_back(has_ema ? "train.ema: the average of the weights begins at those of that checkpoint"
                               : "train.ema = 0: the average of the weights in that checkpoint is dropped");
  return lines;
}

std::string describe_stages_left(const StageRun& stages, int64_t step) {
  const bool is_entered_only = stages.index() > 0 && stages.first_step() == step;  // it has done no step
  const size_t begun = stages.index() + (is_entered_only ? 0 : 1), all = stages.stages().size();
  if (begun == all) return "";
  std::string names;
  for (size_t i = begun; i < all; ++i) names += (names.empty() ? "" : ", ") + stages.stages()[i].name;
  return fmt::format("the run has ended after step {} with stage {} of {}, {}; {} did not begin", step, begun, all,
                     stages.stages()[begun - 1].name, names);
}

}  // namespace weft
