// trainer/stages/stage_run.cpp: numbers the corpora of stages, tracks the progress of a stage, and resumes.
#include "trainer/stages/stage_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>

#include "data/corpus.h"
#include "data/order/min_score.h"
#include "tensor/error.h"
#include "trainer/stages/mix_rates.h"

namespace weft {
namespace {

constexpr const char* kOtherwise = "start a new run (a different --train.output, or --train.fresh=true)";

bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code failed;
  return a == b || std::filesystem::equivalent(a, b, failed);
}

std::string shown(const PastStage& stage) {
  const std::string mix = fmt::format("{}{}{}", stage.name, stage.name.empty() ? "" : ": ", mix_text(stage.corpora));
  const std::string scores = min_scores_text(stage.corpora);
  return printable(mix) + (scores.empty() ? "" : " with min_score = " + printable(scores));
}

}  // namespace

StageRun::StageRun(std::vector<Stage> stages) : stages_(std::move(stages)) {
  number_corpora();
  enter(0, /*first_step=*/0);
}

// A corpus is identified by its manifest. The corpora of all stages are numbered in advance, and new corpora get the
// next numbers, so a run that resumes with additional stages keeps the numbers of its earlier corpora.
void StageRun::number_corpora() {
  for (Stage& stage : stages_)
    for (MixCorpus& corpus : stage.corpora) {
      auto found = std::ranges::find(corpora_, corpus.manifest().sha256, &RunCorpus::manifest_sha256);
      if (found == corpora_.end())
        found = corpora_.insert(corpora_.end(), {.folder = "", .manifest_sha256 = corpus.manifest().sha256});
      if (!is_same_folder(found->folder, corpus.folder)) found->folder = corpus.folder;  // else keeps the log's name
      corpus.number = found - corpora_.begin();
      weighted_ = weighted_ || corpus.manifest().columns.weight;
    }
}

void StageRun::enter(size_t index, int64_t first_step) {
  index_ = index;
  steps_ = target_tokens_ = 0;
  mix_ = {.corpora = stage().corpora, .weighted = weighted_};
  past_.resize(index);
  past_.push_back({stage().name, mix_.corpora, first_step});
  passed_.assign(mix_.corpora.size(), 0);
}

StepCursor StageRun::start(const BatchConfig& batch) const {
  int64_t most = 0;
  for (const Stage& stage : stages_) {
    int64_t pairs = 0;
    for (const MixCorpus& corpus : stage.corpora) pairs += corpus.num_usable;
    most = std::max(most, pairs);
  }
  StepCursor cursor{.num_streams = choose_num_streams(most, batch), .streams = {}};
  for (int64_t i = 0; i < cursor.num_streams; ++i) cursor.streams.emplace(i, StreamCursor());
  return cursor;
}

bool StageRun::has_mixes() const {
  return std::ranges::any_of(stages_, [](const Stage& stage) { return stage.corpora.size() > 1; });
}

std::vector<std::string> StageRun::folders() const {
  std::vector<std::string> folders;
  for (const MixCorpus& corpus : mix_.corpora)
    folders.push_back(corpora_.at(static_cast<size_t>(corpus.number)).folder);
  return folders;
}

void StageRun::add_step(int64_t target_tokens, const std::vector<CorpusTotals>& corpora) {
  ++steps_;
  target_tokens_ += target_tokens;
  for (size_t i = 0; i < passed_.size() && i < corpora.size(); ++i) passed_[i] += corpora[i].passed;
}

// Returns the number of pairs of `corpus` after which the stage ends; 0 if no epochs of `corpus` are counted.
int64_t StageRun::pairs_to_pass(const MixCorpus& corpus) const {
  const StageEnd& end = stage().end;
  return corpus.folder == end.epochs_of ? end.epochs * corpus.num_pairs : 0;
}

bool StageRun::is_over() const {
  const StageEnd& end = stage().end;
  if (end.steps > 0 && steps_ >= end.steps) return true;
  if (end.target_tokens > 0 && target_tokens_ >= end.target_tokens) return true;
  for (size_t i = 0; i < passed_.size(); ++i)
    if (const int64_t pairs = pairs_to_pass(mix_.corpora[i]); pairs > 0 && passed_[i] >= pairs) return true;
  return false;
}

int64_t StageRun::last_step(int64_t train_steps) const {
  if (train_steps == 0) return expected_end().value_or(0);
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
  for (size_t i = 0; i < passed_.size(); ++i) at_this_pace(passed_[i], pairs_to_pass(mix_.corpora[i]));
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

void StageRun::set_clock(double share) {
  if (share > 0 && num_steps() > 0) end_by_clock_ = static_cast<double>(num_steps()) / share;
}

// Once tokens have been counted, the pace of train.tokens replaces the estimate from the corpora.
//
// The clock ends a schedule that ends with the run, and also one of a stage, because the run may end within the stage.
StageSchedule StageRun::schedule(const RunConfig& c) const {
  StageSchedule found{.schedule = c.schedule, .total_steps = static_cast<double>(steps_of_run(c, stages_))};
  if (c.train.tokens > 0 && target_tokens_ > 0) found.total_steps = static_cast<double>(steps_) + steps_left();
  for (size_t i = index_ + 1; i-- > 0;) {
    if (!stages_[i].schedule) continue;
    const int64_t first = past_[i].first_step, steps = stages_[i].end.steps;
    found = {*stages_[i].schedule, first, static_cast<double>(steps > 0 ? steps : c.train.steps - first),
             schedule_section(stages_[i].name)};
    break;
  }
  found.total_steps = std::min(found.total_steps, end_by_clock_ - static_cast<double>(found.first_step));
  return found;
}

namespace {

void begin_mix(StepCursor& cursor) {
  for (auto& [stream, place] : cursor.streams) place.turns.clear(), place.begins.clear();
}

// Rejects changes of a corpus in use, because the run's position in a corpus depends on its number of pairs. Returns a
// line for each changed corpus that no stage has used yet.
std::vector<std::string> require_same_corpora(const std::vector<Stage>& stages, const StageState& saved) {
  std::map<std::string, std::string> digests;  // folder -> current digest of its manifest
  for (const Stage& stage : stages)
    for (const MixCorpus& corpus : stage.corpora) digests[corpus.folder] = corpus.manifest().sha256;
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
        "{} has changed since the run started: its manifest.json differs, for example after `weft pack --append`",
        printable(changed->first));
    for (const PastStage& stage : saved.stages)
      if (std::ranges::find(stage.corpora, i, &MixCorpus::number) != stage.corpora.end())
        fail(ErrorKind::usage,
             fmt::format("{}, so the run would lose its position in the data: use the old corpus, or start a new run "
                         "from this run's weights (--train.init and a different --train.output)",
                         text));
    said.push_back(text + "; the run continues, because no stage has used this corpus yet");
  }
  return said;
}

// Rejects renamed stages. The stage without a name is data.train, which may become a named first stage on resume.
void require_same_names(const std::vector<Stage>& stages, const StageState& saved) {
  if (saved.stages.size() > stages.size())
    fail(ErrorKind::usage, fmt::format("the run is in stage {}, but the options end with stage {}: keep the finished "
                                       "stages and the current one, or {}",
                                       saved.stages.size(), stages.size(), kOtherwise));
  for (size_t i = 0; i < saved.stages.size(); ++i) {
    const std::string &before = saved.stages[i].name, &now = stages[i].name;
    if (before.empty() || before == now) continue;
    fail(ErrorKind::usage, fmt::format("stage {} of the run was {}, but the options give {}: stages that have started "
                                       "must keep their names and order, so append new stages, or {}",
                                       i + 1, printable(before), now.empty() ? "data.train" : now, kOtherwise));
  }
}

// Rejects changes of finished stages and of data.train. REQUIRES: the corpora have the run's numbers.
void require_same_past(const std::vector<Stage>& stages, const StageState& saved) {
  const auto now = [&](size_t i) { return shown({stages[i].name, stages[i].corpora, 0}); };
  for (size_t i = 0; i < saved.stages.size(); ++i) {
    const PastStage& before = saved.stages[i];
    if (is_same_mix(stages[i].corpora, before.corpora)) continue;
    if (i + 1 < saved.stages.size())
      fail(ErrorKind::usage, fmt::format("finished stage {} of the run was {}, but the options give {}: finished "
                                         "stages cannot change, so append a stage, or {}",
                                         i + 1, shown(before), now(i), kOtherwise));
    if (before.name.empty())
      fail(ErrorKind::usage, fmt::format("the run started with data.train = {}, but the option is now {}, so the run "
                                         "would lose its position in the data: use the old value, or {}",
                                         shown(before), now(i), kOtherwise));
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
  require_same_past(stages_, saved);
  const PastStage& before = saved.stages.back();
  enter(saved.stages.size() - 1, before.first_step);
  for (size_t i = 0; i + 1 < saved.stages.size(); ++i) past_[i] = saved.stages[i];
  steps_ = saved.steps;
  target_tokens_ = saved.target_tokens;
  for (size_t i = 0; i < before.corpora.size() && i < saved.passed.size(); ++i)
    for (size_t k = 0; k < mix_.corpora.size(); ++k)
      if (mix_.corpora[k].number == before.corpora[i].number) passed_[k] = saved.passed[i];
  if (is_same_mix(before.corpora, mix_.corpora)) return said;
  begin_mix(cursor);
  said.push_back(fmt::format("stage {} continues with a different mix: {} (was {})", index_ + 1, shown(past_.back()),
                             shown(before)));
  return said;
}

StageState StageRun::state() const {
  return {.corpora = corpora_, .stages = past_, .steps = steps_, .target_tokens = target_tokens_, .passed = passed_};
}

}  // namespace weft
