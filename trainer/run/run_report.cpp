// trainer/run/run_report.cpp: describes the position of a run in its data, its changed options and its end.
#include "trainer/run/run_report.h"

#include <fmt/format.h>

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/config/absolute_paths.h"
#include "trainer/config/changed_options.h"
#include "trainer/config/config_text.h"

namespace weft {

std::vector<std::string> describe_resume(const PreparedRun& run, const StageRun& stages,
                                         const std::vector<std::string>& changes, const TrainState& state) {
  const std::string& checkpoint = run.resume_from;
  const auto corpus = static_cast<size_t>(stages.mix().corpora.front().number);
  const StreamCursor& place = state.cursor.streams.at(state.cursor.next_stream);  // the main rank has this stream
  const int64_t epoch = corpus < place.corpora.size() ? place.corpora[corpus].epoch : 0;
  std::vector<std::string> lines = {
      fmt::format("resuming from {}: step {}, {}epoch {}", checkpoint, state.step,
                  stages.stages().size() == 1 ? "" : fmt::format("stage {}, ", stages.index() + 1), epoch)};
  lines.insert(lines.end(), changes.begin(), changes.end());
  // prepare_run() has rejected all changes that are not listed here.
  for (const ChangedOption& o : changed_options(with_absolute_paths(kept_config(checkpoint)), run.kept))
    lines.push_back(!o.to.empty() && o.on_resume == OnResume::has_no_effect
                        ? fmt::format("{} = {} has no effect, because the weights come from the checkpoint: to use "
                                      "this value, start a new run (a different --train.output, or --train.fresh=true)",
                                      o.name, printable(o.to))
                        : fmt::format("changed since the checkpoint: {} = {} (was {})", o.name,
                                      o.to.empty() ? "empty" : o.to, o.from));
  const bool has_ema = run.config.train.ema > 0;
  if (has_ema != has_average(checkpoint))
    lines.emplace_back(has_ema ? "train.ema: the average of the weights starts at the checkpoint's weights"
                               : "train.ema = 0: the average of the weights in the checkpoint is dropped");
  return lines;
}

std::string describe_next_stage(const StageRun& stages, const std::string& what) {
  const size_t next = stages.index() + 1;
  return fmt::format("stage {} of {}, {}, {}", next + 1, stages.stages().size(), stages.stages()[next].name, what);
}

namespace {

std::string reason_of(RunEnd end, const TrainConfig& t, const StageRun& stages) {
  if (end == RunEnd::patience) return fmt::format("train.patience = {}", t.patience);
  if (end == RunEnd::data && !t.epochs.empty()) return fmt::format("train.epochs = {}", t.epochs);
  if (end == RunEnd::data && t.tokens > 0) return fmt::format("train.tokens = {}", t.tokens);
  if (end == RunEnd::data) return "the end of its last stage, " + describe_end(stages.stages().back().end);
  return end == RunEnd::steps ? fmt::format("train.steps = {}", t.steps) : fmt::format("train.minutes = {}", t.minutes);
}

}  // namespace

std::string describe_end(RunEnd end, const RunConfig& config, const StageRun& stages, int64_t step) {
  const std::vector<Stage>& all = stages.stages();
  const size_t begun = stages.index() + 1;
  const std::string text =
      fmt::format("the run has ended after step {}: {}", step, reason_of(end, config.train, stages));
  if (begun == all.size()) return text;
  std::string names;
  for (size_t i = begun; i < all.size(); ++i) names += (names.empty() ? "" : ", ") + all[i].name;
  return text + fmt::format(", in stage {} of {}, {}; {} did not start", begun, all.size(), all[begun - 1].name, names);
}

std::string describe_next_step(const std::string& output, int64_t dropped) {
  return fmt::format(
      "{}use the model: weft translate --checkpoint {}",
      dropped == 0 ? "" : fmt::format("{} pairs longer than a block (batch.rows) were left out; ", dropped), output);
}

std::string describe_nothing_left(RunEnd end, const RunConfig& config, int64_t step) {
  const TrainConfig& t = config.train;
  const bool by_steps = t.epochs.empty() && t.tokens == 0;
  const std::string length = by_steps ? "train.steps" : t.tokens > 0 ? "train.tokens" : "train.epochs";
  return fmt::format("nothing is left to do after step {}: to continue, {}", step,
                     end == RunEnd::patience                ? "raise train.patience"
                     : end == RunEnd::data && by_steps      ? "add stages, or extend the last one"
                     : t.minutes > 0 && end != RunEnd::data ? "raise " + length + " or train.minutes"
                                                            : "raise " + length);
}

}  // namespace weft
