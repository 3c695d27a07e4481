// trainer/stages/stage_run.cpp: numbers the corpora of stages, counts what a stage has done, and goes on from a
// checkpoint.
#include "trainer/stages/stage_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>

#include "data/corpus.h"
#include "data/min_score.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr const char* kOtherwise = "use another --train.output, or --train.fresh=true";

std::string shown(const PastStage& stage, const std::vector<RunCorpus>& corpora) {
  std::vector<WeightedFolder> folders;
  for (const Mix::Part& part : stage.parts) {
    const RunCorpus& corpus = corpora[static_cast<size_t>(part.corpus)];
    folders.push_back({corpus.folder, part.weight, part.min_score});
  }
  const std::string mix = fmt::format("{}{}{}", stage.name, stage.name.empty() ? "" : ": ", mix_text(folders));
  const std::string scores = min_scores_text(folders);
  return printable(mix) + (scores.empty() ? "" : " with min_score = " + printable(scores));
}

// The number of each folder of a stage. A corpus is known by its manifest; new ones are appended.
std::vector<Mix::Part> number(const Stage& stage, std::vector<RunCorpus>& corpora) {
  require_distinct_corpora(stage.corpora);
  std::vector<Mix::Part> parts;
  for (const auto& [folder, weight, min_score] : stage.corpora) {
    const std::string digest = manifest_digest(folder);
    auto found = std::ranges::find(corpora, digest, &RunCorpus::manifest_sha256);
    if (found == corpora.end()) found = corpora.insert(corpora.end(), {.folder = folder, .manifest_sha256 = digest});
    found->folder = folder;
    found->num_pairs = read_manifest(folder).num_pairs;
    const int64_t corpus = found - corpora.begin();
    parts.push_back({corpus, weight, min_score});
  }
  return parts;
}

}  // namespace

StageRun::StageRun(const RunConfig& config) : stages_(stages_of(config)) {
  number_corpora();
  if (!stages_.empty()) enter(0, /*first_step=*/0);
}

// All at once: a run that goes on with stages appended has numbered its own alike. Later changes of a manifest do not
// count: the run goes on with the pairs that it began with.
void StageRun::number_corpora() {
  parts_.clear();
  for (const Stage& stage : stages_) parts_.push_back(number(stage, corpora_));
  weighted_ = std::ranges::any_of(
      corpora_, [](const RunCorpus& c) { return c.num_pairs > 0 && read_manifest(c.folder).columns.weight; });
}

void StageRun::enter(size_t index, int64_t first_step) {
  index_ = index;
  steps_ = target_tokens_ = 0;
  mix_ = {.folders = {}, .parts = parts_[index], .weighted = weighted_};
  for (const RunCorpus& corpus : corpora_) mix_.folders.push_back(corpus.folder);
  past_.resize(index);
  past_.push_back({stage().name, mix_.parts, first_step});
  passed_.assign(mix_.parts.size(), 0);
}

StepCursor StageRun::start(const BatchConfig& batch) const {
  int64_t most = 0;
  for (const std::vector<Mix::Part>& parts : parts_) {
    int64_t pairs = 0;
    for (const Mix::Part& part : parts) {
      const RunCorpus& corpus = corpora_[static_cast<size_t>(part.corpus)];
      pairs += part.min_score ? num_passing(corpus.folder, *part.min_score) : corpus.num_pairs;
    }
    most = std::max(most, pairs);
  }
  StepCursor cursor{.num_streams = choose_num_streams(most, batch), .streams = {}};
  for (int64_t i = 0; i < cursor.num_streams; ++i) cursor.streams.emplace(i, StreamCursor());
  return cursor;
}

bool StageRun::has_mixes() const {
  return std::ranges::any_of(stages_, [](const Stage& stage) { return stage.corpora.size() > 1; });
}

std::vector<std::string> StageRun::next_folders() const {
  std::vector<std::string> folders;
  for (const Mix::Part& part : parts_[index_ + 1]) folders.push_back(mix_.folder(part));
  return folders;
}

void StageRun::add_step(int64_t target_tokens, const std::vector<CorpusTotals>& corpora) {
  ++steps_;
  target_tokens_ += target_tokens;
  for (size_t i = 0; i < passed_.size() && i < corpora.size(); ++i) passed_[i] += corpora[i].passed;
}

// Pairs of the end that counts epochs of a part; 0: it does not count this one's.
int64_t StageRun::pairs_to_pass(size_t part) const {
  const StageEnd& end = stage().end;
  if (stage().corpora[part].folder != end.epochs_of) return 0;
  return end.epochs * corpora_[static_cast<size_t>(mix_.parts[part].corpus)].num_pairs;
}

bool StageRun::is_over() const {
  const StageEnd& end = stage().end;
  if (end.steps > 0 && steps_ >= end.steps) return true;
  if (end.target_tokens > 0 && target_tokens_ >= end.target_tokens) return true;
  for (size_t i = 0; i < passed_.size(); ++i)
    if (const int64_t pairs = pairs_to_pass(i); pairs > 0 && passed_[i] >= pairs) return true;
  return false;
}

int64_t StageRun::last_step(int64_t train_steps) const {
  int64_t last = first_step();
  for (size_t i = index_; i < stages_.size(); ++i) {
    if (stages_[i].end.steps == 0) return train_steps;
    last += stages_[i].end.steps;
  }
  return std::min(last, train_steps);
}

double StageRun::steps_left() const {
  constexpr double kNotKnown = std::numeric_limits<double>::infinity();
  const StageEnd& end = stage().end;
  double left = end.steps > 0 ? static_cast<double>(end.steps - steps_) : kNotKnown;
  const auto at_this_pace = [&](int64_t done, int64_t all) {
    if (done > 0 && all > 0)
      left = std::min(left, static_cast<double>(steps_) * (static_cast<double>(all) / static_cast<double>(done) - 1));
  };
  at_this_pace(target_tokens_, end.target_tokens);
  for (size_t i = 0; i < passed_.size(); ++i) at_this_pace(passed_[i], pairs_to_pass(i));
  return std::max(left, 0.0);
}

std::optional<int64_t> StageRun::expected_end() const {
  constexpr double kLargest = 1e15;
  double end = static_cast<double>(first_step() + steps_) + steps_left();
  for (size_t i = index_ + 1; i < stages_.size(); ++i) {
    if (stages_[i].end.steps == 0) return std::nullopt;
    end += static_cast<double>(stages_[i].end.steps);
  }
  if (!(end < kLargest)) return std::nullopt;
  return static_cast<int64_t>(std::ceil(end));
}

StageSchedule StageRun::schedule(const RunConfig& c) const {
  for (size_t i = index_ + 1; i-- > 0;) {
    if (!stages_[i].schedule) continue;
    const int64_t first = past_[i].first_step, steps = stages_[i].end.steps;
    return {*stages_[i].schedule, first, steps > 0 ? steps : c.train.steps - first,
            "stage." + stages_[i].name + ".schedule"};
  }
  return {.schedule = c.schedule, .total_steps = c.train.steps};
}

namespace {

void begin_mix(StepCursor& cursor) {
  for (auto& [stream, place] : cursor.streams) place.turns.clear(), place.begins.clear();
}

bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code failed;
  return a == b || std::filesystem::equivalent(a, b, failed);
}

// A place in the order of a corpus is a function of the number of its pairs. Says which corpora have changed that no
// stage has used so far.
std::vector<std::string> require_same_corpora(const std::vector<Stage>& stages, const StageState& saved) {
  std::map<std::string, std::string> digests;  // of the folders, now
  for (const Stage& stage : stages)
    for (const WeightedFolder& corpus : stage.corpora) digests[corpus.folder] = manifest_digest(corpus.folder);
  const auto is_there = [&](const RunCorpus& corpus) {
    return std::ranges::any_of(digests, [&](const auto& now) { return now.second == corpus.manifest_sha256; });
  };
  std::vector<std::string> said;
  for (int64_t i = 0; i < std::ssize(saved.corpora); ++i) {
    const RunCorpus& before = saved.corpora[static_cast<size_t>(i)];
    const auto changed =
        std::ranges::find_if(digests, [&](const auto& now) { return is_same_folder(now.first, before.folder); });
    if (changed == digests.end() || is_there(before)) continue;
    const std::string text = fmt::format(
        "{} is another corpus than when the run began: its manifest.json has changed, as "
        "`weft pack --append` changes it",
        printable(changed->first));
    for (const PastStage& stage : saved.stages)
      if (std::ranges::find(stage.parts, i, &Mix::Part::corpus) != stage.parts.end())
        fail(ErrorKind::usage,
             fmt::format("{}, and the run's place in it would be lost; use the old one, or begin a new "
                         "run from this one's weights (--train.init, another --train.output)",
                         text));
    said.push_back(text + "; no stage has used it yet");
  }
  return said;
}

// They may not be rewritten. A stage without a name is data.train, which may be given as a first stage later.
void require_same_names(const std::vector<Stage>& stages, const StageState& saved) {
  if (saved.stages.size() > stages.size())
    fail(ErrorKind::usage, fmt::format("the run is in its stage {}, but now has {} in all: stages that are over, and "
                                       "the present one, must stay; or {}",
                                       saved.stages.size(), stages.size(), kOtherwise));
  for (size_t i = 0; i < saved.stages.size(); ++i) {
    const std::string &before = saved.stages[i].name, &now = stages[i].name;
    if (before.empty() || before == now) continue;
    fail(ErrorKind::usage, fmt::format("stage {} of the run is {}, now it is {}: stages that have begun keep their "
                                       "names and their order; append new ones, or {}",
                                       i + 1, printable(before), now.empty() ? "data.train" : now, kOtherwise));
  }
}

}  // namespace

void StageRun::advance(StepCursor& cursor) {
  enter(index_ + 1, past_.back().first_step + steps_);
  begin_mix(cursor);
}

std::vector<std::string> StageRun::resume(const StageState& saved, StepCursor& cursor) {
  require_same_names(stages_, saved);
  std::vector<std::string> said = require_same_corpora(stages_, saved);
  corpora_ = saved.corpora;
  number_corpora();
  const PastStage& before = saved.stages.back();
  const auto now = [&](size_t i) { return PastStage{stages_[i].name, parts_[i], 0}; };
  if (before.name.empty() && parts_[saved.stages.size() - 1] != before.parts)
    fail(ErrorKind::usage,
         fmt::format("the run started with data.train = {}, now it is {}: its place in the data would "
                     "be lost; use the old value, or {}",
                     shown(before, corpora_), shown(now(0), corpora_), kOtherwise));
  for (size_t i = 0; i + 1 < saved.stages.size(); ++i)
    if (parts_[i] != saved.stages[i].parts)
      fail(ErrorKind::usage, fmt::format("stage {} of the run is over and was {}, now it is {}: the past stays as it "
                                         "was; append a stage, or {}",
                                         i + 1, shown(saved.stages[i], corpora_), shown(now(i), corpora_), kOtherwise));
  enter(saved.stages.size() - 1, before.first_step);
  for (size_t i = 0; i + 1 < saved.stages.size(); ++i) past_[i] = saved.stages[i];
  steps_ = saved.steps;
  target_tokens_ = saved.target_tokens;
  for (size_t i = 0; i < before.parts.size() && i < saved.passed.size(); ++i)
    for (size_t k = 0; k < mix_.parts.size(); ++k)
      if (mix_.parts[k].corpus == before.parts[i].corpus) passed_[k] = saved.passed[i];
  if (before.parts == mix_.parts) return said;
  begin_mix(cursor);
  said.push_back(fmt::format("stage {} goes on with another mix: {} (was {})", index_ + 1,
                             shown(past_.back(), corpora_), shown(before, corpora_)));
  return said;
}

StageState StageRun::state() const {
  return {.corpora = corpora_, .stages = past_, .steps = steps_, .target_tokens = target_tokens_, .passed = passed_};
}

}  // namespace weft
