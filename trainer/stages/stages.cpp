// trainer/stages/stages.cpp: reads stages from options, and computes the step counts that are known before the run.
#include "trainer/stages/stages.h"

#include <algorithm>

#include "data/order/min_score.h"
#include "data/text/number.h"
#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kMaxEpochs = 1 << 20;  // so that epochs times pairs cannot overflow

std::string option_of(const StageConfig& stage, const char* name) {
  return fmt::format("stage.{}.{}", stage.name, name);
}

struct MixOption {  // an option that gives a mix
  std::string name, text;
};

// Parses "FOLDER:2" for a corpus of the mix, or "2" if the mix has only one corpus.
void parse_epochs(const std::string& option, const std::string& text, const MixOption& mix, Stage& stage) {
  if (text.empty()) return;
  const std::vector<MixCorpus>& corpora = stage.corpora;
  const size_t colon = find_colon_after_folder(text);
  const bool names_folder = colon != std::string::npos;
  StageEnd& end = stage.end;
  end.epochs_of = names_folder ? text.substr(0, colon) : corpora.front().folder;
  end.epochs = parse_number<int64_t>(names_folder ? text.substr(colon + 1) : text).value_or(0);
  if (end.epochs < 1 || end.epochs > kMaxEpochs || (!names_folder && corpora.size() > 1))
    fail(ErrorKind::usage,
         fmt::format("{} = '{}' must be {}FOLDER:EPOCHS, such as {}:2, with 1 to {} epochs", option, printable(text),
                     corpora.size() == 1 ? "a number of epochs or " : "", corpora.front().folder, kMaxEpochs));
  if (std::ranges::find(corpora, end.epochs_of, &MixCorpus::folder) == corpora.end())
    fail(ErrorKind::usage,
         fmt::format("{} names {}, which is not in {} = {}: give a folder of this mix, spelled the same way", option,
                     printable(end.epochs_of), mix.name, printable(mix.text)));
}

Stage stage_of(const StageConfig& c, bool is_last) {
  if (c.mix.empty())
    fail(ErrorKind::usage, fmt::format("{} is not set: give a folder of `weft pack`, or several folders with weights",
                                       option_of(c, "mix")));
  Stage stage{.name = c.name, .corpora = parse_mix(option_of(c, "mix"), c.mix), .end = {}};
  for (const auto& [name, value] : {std::pair{"steps", c.steps}, {"tokens", c.tokens}})
    if (value < 0) fail(ErrorKind::usage, fmt::format("{} must be at least 0, but is {}", option_of(c, name), value));
  set_min_scores(option_of(c, "min_score"), c.min_score, stage.corpora);
  if (c.has_schedule) stage.schedule = c.schedule;
  stage.end.steps = c.steps;
  stage.end.target_tokens = c.tokens;
  parse_epochs(option_of(c, "epochs"), c.epochs, {option_of(c, "mix"), c.mix}, stage);
  if (!is_last && !stage.end.exists())
    fail(ErrorKind::usage, fmt::format("stage.{} has no end, but is not the last stage: set {}, {} or {}", c.name,
                                       option_of(c, "steps"), option_of(c, "tokens"), option_of(c, "epochs")));
  return stage;
}

// Returns the only stage of a run on data.train.
Stage stage_of_data(const RunConfig& c) {
  Stage stage{.corpora = parse_mix("data.train", c.data.train)};
  set_min_scores("data.min_score", c.data.min_score, stage.corpora);
  parse_epochs("train.epochs", c.train.epochs, {"data.train", c.data.train}, stage);
  stage.end.target_tokens = c.train.tokens;
  return stage;
}

}  // namespace

std::vector<Stage> parse_stages(const RunConfig& c) {
  if (!c.data.train.empty() && !c.stages.empty())
    fail(ErrorKind::usage, fmt::format("data.train = {} and stage.{} are both given: leave out data.train, and name "
                                       "its corpora in the mix of a stage",
                                       c.data.train, c.stages.front().name));
  std::vector<Stage> stages;
  if (!c.data.min_score.empty() && c.data.train.empty())
    fail(ErrorKind::usage,
         fmt::format("data.min_score = {} applies only to data.train, which is not set: use stage.NAME.min_score",
                     printable(c.data.min_score)));
  if (!c.train.epochs.empty() && !c.stages.empty())
    fail(ErrorKind::usage,
         fmt::format("train.epochs = {} counts epochs of data.train, but the run has stages: use stage.NAME.epochs",
                     printable(c.train.epochs)));
  if (c.train.tokens > 0 && !c.stages.empty())
    fail(ErrorKind::usage,
         fmt::format("train.tokens = {} counts tokens of data.train, but the run has stages: use stage.NAME.tokens",
                     c.train.tokens));
  if (!c.data.train.empty()) stages.push_back(stage_of_data(c));
  for (const StageConfig& stage : c.stages) stages.push_back(stage_of(stage, &stage == &c.stages.back()));
  return stages;
}

std::vector<std::string> training_folders(const std::vector<Stage>& stages) {
  std::vector<std::string> folders;
  for (const Stage& stage : stages)
    for (const MixCorpus& corpus : stage.corpora)
      if (std::ranges::find(folders, corpus.folder) == folders.end()) folders.push_back(corpus.folder);
  return folders;
}

std::string describe_end(const StageEnd& end) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " or ") + part; };
  if (end.steps > 0) add(fmt::format("{} steps", end.steps));
  if (end.target_tokens > 0) add(fmt::format("{} target tokens", end.target_tokens));
  if (end.epochs > 0) add(fmt::format("{} epoch{} of {}", end.epochs, end.epochs == 1 ? "" : "s", end.epochs_of));
  return text.empty() ? "no end" : text;
}

std::optional<int64_t> steps_before(const std::vector<Stage>& stages, size_t index, size_t first) {
  int64_t steps = 0;
  for (size_t i = first; i < index; ++i) {
    const StageEnd& end = stages[i].end;
    if (end.steps == 0 || end.target_tokens > 0 || end.epochs > 0) return std::nullopt;
    steps += end.steps;
  }
  return steps;
}

std::optional<int64_t> steps_to_decay(const std::vector<Stage>& stages, size_t index, int64_t train_steps) {
  if (stages[index].end.steps > 0) return stages[index].end.steps;
  const std::optional<int64_t> before = steps_before(stages, index);
  return before ? std::optional(std::max<int64_t>(train_steps - *before, 0)) : std::nullopt;
}

}  // namespace weft
