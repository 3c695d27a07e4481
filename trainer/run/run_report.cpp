// trainer/run/run_report.cpp: sentences about the place of a run in its data, and about options that changed.
#include "trainer/run/run_report.h"

#include <fmt/format.h>

#include "data/atomic_file.h"
#include "tensor/error.h"
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
    lines.push_back(
        !o.to.empty() && (o.name == "train.init" || o.name == "model.embedding_init")
            ? fmt::format(
                  "{} = {} has no effect: the weights are that checkpoint's; a new run (another train.output, or "
                  "train.fresh=true) begins with it",
                  o.name, printable(o.to))
            : fmt::format("changed since that checkpoint: {} = {} (was {})", o.name, o.to, o.from));
  const bool has_ema = config.train.ema > 0;
  if (has_ema != has_average(checkpoint))
    lines.emplace_back(has_ema ? "train.ema: the average of the weights begins at those of that checkpoint"
                               : "train.ema = 0: the average of the weights in that checkpoint is dropped");
  return lines;
}

std::string describe_next_stage(const StageRun& stages, const std::string& what) {
  const size_t next = stages.index() + 1;
  return fmt::format("stage {} of {}, {}, {}", next + 1, stages.stages().size(), stages.stages()[next].name, what);
}

std::string describe_end(const RunConfig& config, const Trainer& trainer, int64_t step, bool out_of_patience) {
  const TrainConfig& t = config.train;
  const std::vector<Stage>& stages = trainer.stages().stages();
  const size_t begun = trainer.stages().index() + 1;
  const std::string reason = out_of_patience          ? fmt::format("train.patience = {}", t.patience)
                             : trainer.data_is_over() ? "the end of its last stage, " + describe_end(stages.back().end)
                             : step >= t.steps        ? fmt::format("train.steps = {}", t.steps)
                                                      : fmt::format("train.minutes = {}", t.minutes);
  std::string text = fmt::format("the run has ended after step {}: {}", step, reason);
  if (begun == stages.size()) return text;
  std::string names;
  for (size_t i = begun; i < stages.size(); ++i) names += (names.empty() ? "" : ", ") + stages[i].name;
  return text +
         fmt::format("; in stage {} of {}, {}; {} did not begin", begun, stages.size(), stages[begun - 1].name, names);
}

std::string describe_nothing_left(const RunConfig& config, const Trainer& trainer, int64_t step, bool out_of_patience) {
  return fmt::format("nothing is left to do after step {}: give more {}", step,
                     out_of_patience            ? "train.patience"
                     : trainer.data_is_over()   ? "stages, or the last one a later end"
                     : config.train.minutes > 0 ? "train.steps or train.minutes"
                                                : "train.steps");
}

}  // namespace weft
