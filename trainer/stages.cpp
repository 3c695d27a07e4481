// trainer/stages.cpp: reads stages from options, numbers their corpora, and counts what a stage has done.
#include "trainer/stages.h"

#include <algorithm>
#include <charconv>

#include "data/corpus.h"
#include "data/min_score.h"
#include "data/sha256.h"
#include "tensor/error.h"

namespace weft {

namespace {

std::string option_of(const StageConfig& stage, const char* name) {
  return fmt::format("stage.{}.{}", stage.name, name);
}

// "FOLDER:2" of a corpus of the mix.
void parse_epochs(const StageConfig& c, const std::vector<WeightedFolder>& mix, StageEnd& end) {
  if (c.epochs.empty()) return;
  const size_t colon = c.epochs.rfind(':');
  end.epochs_of = c.epochs.substr(0, colon);
  const std::string number = colon == std::string::npos ? "" : c.epochs.substr(colon + 1);
  const auto [last, error] = std::from_chars(number.data(), number.data() + number.size(), end.epochs);
  if (error != std::errc() || last != number.data() + number.size() || end.epochs < 1 || end.epochs > (1 << 20))
    fail(ErrorKind::usage, fmt::format("{} = '{}': give FOLDER:EPOCHS, such as {}:2", option_of(c, "epochs"),
                                       printable(c.epochs), mix.front().folder));
  if (std::ranges::none_of(mix, [&](const WeightedFolder& f) { return f.folder == end.epochs_of; }))
    fail(ErrorKind::usage, fmt::format("{} names {}, which is not in {} = {}", option_of(c, "epochs"),
                                       printable(end.epochs_of), option_of(c, "mix"), printable(c.mix)));
}

Stage stage_of(const StageConfig& c, bool is_last) {
  if (c.mix.empty())
    fail(ErrorKind::usage, fmt::format("{} is not set: give the folder that `weft pack` made, or several with weights",
                                       option_of(c, "mix")));
  Stage stage{.name = c.name, .corpora = parse_mix(option_of(c, "mix"), c.mix), .end = {}};
  for (const auto& [name, value] : {std::pair{"steps", c.steps}, {"tokens", c.tokens}})
    if (value < 0) fail(ErrorKind::usage, fmt::format("{} = {} must be at least 0", option_of(c, name), value));
  set_min_scores(option_of(c, "min_score"), c.min_score, stage.corpora);
  if (c.has_schedule) stage.schedule = c.schedule;
  stage.end.steps = c.steps;
  stage.end.target_tokens = c.tokens;
  parse_epochs(c, stage.corpora, stage.end);
  if (!is_last && !stage.end.exists())
    fail(ErrorKind::usage, fmt::format("stage.{} has no end, but is not the last stage: set {}, {} or {}", c.name,
                                       option_of(c, "steps"), option_of(c, "tokens"), option_of(c, "epochs")));
  return stage;
}

std::string shown(const PastStage& stage, const std::vector<RunCorpus>& corpora) {
  std::vector<WeightedFolder> folders;
  for (const Mix::Part& part : stage.parts)
    folders.push_back({corpora[static_cast<size_t>(part.corpus)].folder, part.weight, part.min_score});
  const std::string mix = fmt::format("{}{}{}", stage.name, stage.name.empty() ? "" : ": ", mix_text(folders));
  const std::string scores = min_scores_text(folders);
  return printable(mix) + (scores.empty() ? "" : " with min_score = " + printable(scores));
}

// The number of each folder of a stage. A corpus is known by its manifest; new ones are appended.
std::vector<Mix::Part> number(const Stage& stage, std::vector<RunCorpus>& corpora) {
  std::vector<Mix::Part> parts;
  for (const auto& [folder, weight, min_score] : stage.corpora) {
    const std::string digest = sha256_of_file(folder + "/" + kManifestFile);
    auto found = std::ranges::find(corpora, digest, &RunCorpus::manifest_sha256);
    if (found == corpora.end()) found = corpora.insert(corpora.end(), {folder, digest});
    found->folder = folder;
    const int64_t corpus = found - corpora.begin();
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].corpus == corpus)
        fail(ErrorKind::usage,
             fmt::format("{} and {} are the same corpus: give it one weight", stage.corpora[i].folder, folder));
    parts.push_back({corpus, weight, min_score});
  }
  return parts;
}

}  // namespace

std::vector<Stage> stages_of(const RunConfig& c) {
  if (!c.data.train.empty() && !c.stages.empty())
    fail(ErrorKind::usage, fmt::format("data.train = {} and stage.{} are both given: leave out data.train, and give "
                                       "its corpora as the mix of a stage",
                                       c.data.train, c.stages.front().name));
  std::vector<Stage> stages;
  if (!c.data.min_score.empty() && c.data.train.empty())
    fail(ErrorKind::usage,
         fmt::format("data.min_score = {} is of the pairs of data.train, which is not set: give stage.NAME.min_score",
                     printable(c.data.min_score)));
  if (!c.data.train.empty()) {
    stages.push_back({.corpora = parse_mix("data.train", c.data.train)});
    set_min_scores("data.min_score", c.data.min_score, stages.back().corpora);
  }
  for (const StageConfig& stage : c.stages) stages.push_back(stage_of(stage, &stage == &c.stages.back()));
  return stages;
}

bool has_data(const RunConfig& c) { return !c.data.train.empty() || !c.stages.empty(); }

std::vector<std::string> training_folders(const RunConfig& c) {
  std::vector<std::string> folders;
  for (const Stage& stage : stages_of(c))
    for (const WeightedFolder& corpus : stage.corpora)
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

// Numbers all corpora at once: a run that goes on with stages appended has numbered its own alike.
StageRun::StageRun(const RunConfig& config) : stages_(stages_of(config)) {
  for (const Stage& stage : stages_) number(stage, corpora_);
  weighted_ = std::ranges::any_of(corpora_, [](const RunCorpus& c) { return read_manifest(c.folder).columns.weight; });
  if (!stages_.empty()) enter(0, /*first_step=*/0);
}

void StageRun::enter(size_t index, int64_t first_step) {
  index_ = index;
  steps_ = target_tokens_ = 0;
  mix_ = {.folders = {}, .parts = number(stage(), corpora_), .weighted = weighted_};
  for (const RunCorpus& corpus : corpora_) mix_.folders.push_back(corpus.folder);
  past_.resize(index);
  past_.push_back({stage().name, mix_.parts, first_step});
  passed_.assign(mix_.parts.size(), 0);
  epoch_pairs_.clear();
  for (const Mix::Part& part : mix_.parts) epoch_pairs_.push_back(read_manifest(mix_.folder(part)).num_pairs);
}

bool StageRun::has_mixes() const {
  return std::ranges::any_of(stages_, [](const Stage& stage) { return stage.corpora.size() > 1; });
}

void StageRun::add_step(int64_t target_tokens, const std::vector<CorpusTotals>& corpora) {
  ++steps_;
  target_tokens_ += target_tokens;
  for (size_t i = 0; i < passed_.size() && i < corpora.size(); ++i) passed_[i] += corpora[i].passed;
}

bool StageRun::is_over() const {
  const StageEnd& end = stage().end;
  if (end.steps > 0 && steps_ >= end.steps) return true;
  if (end.target_tokens > 0 && target_tokens_ >= end.target_tokens) return true;
  for (size_t i = 0; i < passed_.size(); ++i)
    if (end.epochs > 0 && stage().corpora[i].folder == end.epochs_of && passed_[i] >= end.epochs * epoch_pairs_[i])
      return true;
  return false;
}

StageSchedule StageRun::schedule(const RunConfig& c) const {
  for (size_t i = index_ + 1; i-- > 0;) {
    if (!stages_[i].schedule) continue;
    const int64_t first = past_[i].first_step, steps = stages_[i].end.steps;
    return {*stages_[i].schedule, first, steps > 0 ? steps : c.train.steps - first};
  }
  return {c.schedule, 0, c.train.steps};
}

namespace {

void begin_mix(StepCursor& cursor) {
  for (auto& [stream, place] : cursor.streams) place.turns.clear(), place.begins.clear();
}

}  // namespace

void StageRun::advance(StepCursor& cursor) {
  enter(index_ + 1, past_.back().first_step + steps_);
  begin_mix(cursor);
}

std::vector<std::string> StageRun::resume(const StageState& saved, StepCursor& cursor) {
  corpora_ = saved.corpora;
  for (const Stage& stage : stages_) number(stage, corpora_);
  if (saved.stages.size() > stages_.size())
    fail(ErrorKind::usage,
         fmt::format(
             "the run is in its stage {}, but now has {} in all: stages that are over, and the present one, must "
             "stay; or use another --train.output, or --train.fresh=true",
             saved.stages.size(), stages_.size()));
  for (size_t i = 0; i + 1 < saved.stages.size(); ++i)
    if (const PastStage now{stages_[i].name, number(stages_[i], corpora_), 0}; now.parts != saved.stages[i].parts)
      fail(ErrorKind::usage,
           fmt::format("stage {} of the run is over and was {}, now it is {}: the past stays as it was; "
                       "append a stage, or use another --train.output, or --train.fresh=true",
                       i + 1, shown(saved.stages[i], corpora_), shown(now, corpora_)));
  enter(saved.stages.size() - 1, saved.stages.back().first_step);
  for (size_t i = 0; i + 1 < saved.stages.size(); ++i) past_[i] = saved.stages[i];
  if (saved.target_tokens < 0 && (stage().end.target_tokens > 0 || stage().end.epochs > 0))
    fail(ErrorKind::usage,
         fmt::format("stage.{} began in an earlier version, which did not count its target tokens and "
                     "pairs: end it by stage.{}.steps",
                     stage().name, stage().name));
  steps_ = saved.steps;
  target_tokens_ = std::max<int64_t>(saved.target_tokens, 0);
  const PastStage& before = saved.stages.back();
  for (size_t i = 0; i < before.parts.size() && i < saved.passed.size(); ++i)
    for (size_t k = 0; k < mix_.parts.size(); ++k)
      if (mix_.parts[k].corpus == before.parts[i].corpus) passed_[k] = saved.passed[i];
  if (before.parts == mix_.parts) return {};
  if (stage().name.empty())
    fail(ErrorKind::usage,
         fmt::format("the run started with data.train = {}, now it is {}: its place in the data would be lost; use the "
                     "old value, or another --train.output, or --train.fresh=true",
                     shown(before, corpora_), shown(past_.back(), corpora_)));
  begin_mix(cursor);
  return {fmt::format("stage {} goes on with another mix: {} (was {})", index_ + 1, shown(past_.back(), corpora_),
                      shown(before, corpora_))};
}

StageState StageRun::state() const {
  return {.corpora = corpora_, .stages = past_, .steps = steps_, .target_tokens = target_tokens_, .passed = passed_};
}

}  // namespace weft
