// trainer/validation/validation_scores.cpp: broadcasts the results of the command, which runs on the main rank.
#include "trainer/validation/validation_scores.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

std::string message_of(const CommandScore& s) {
  return nlohmann::json{{"step", s.step}, {"scores", s.scores}, {"failure", s.failure}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CommandScore score_of_message(const std::string& text) {
  const nlohmann::json j = nlohmann::json::parse(text);
  return {.step = j.at("step"), .scores = j.at("scores"), .failure = j.at("failure")};
}

}  // namespace

ValidationScores::ValidationScores(const TrainConfig& config, const std::vector<ValidationSet>& sets,
                                   Communicator& world)
    : world_(world) {
  if (!world.is_main_rank()) return;
  std::vector<std::string> names;
  for (const ValidationSet& set : sets) names.push_back(set.name);
  command_.emplace(config.output + "/validation", config.validate_command, 60 * config.validate_command_minutes,
                   std::move(names));
}

bool ValidationScores::add(const ValidationReport& report, TrainState& state) {
  if (state.scores_due.size() >= kMaxDue) return false;
  ScoreDue due{.step = report.step, .numbers = report.numbers()};
  std::erase_if(due.numbers, [](const auto& number) { return !std::isfinite(number.second); });  // not valid JSON
  state.scores_due.push_back(std::move(due));
  if (command_) command_->add(report.step, report.texts);
  return true;
}

void ValidationScores::resume(const TrainState& state) {
  if (!command_) return;
  for (const ScoreDue& due : state.scores_due) command_->queue(due.step);
  command_->remove_texts_except({});
}

std::vector<ScoredValidation> ValidationScores::take(TrainState& state) {
  std::vector<ScoredValidation> all;
  while (!state.scores_due.empty()) {
    const std::optional<CommandScore> own = command_ ? command_->poll() : std::nullopt;
    if (world_.max(own ? 1 : 0) == 0) return all;
    const CommandScore score = score_of_message(world_.broadcast_string(own ? message_of(*own) : "", /*root=*/0));
    const auto due = std::ranges::find(state.scores_due, score.step, &ScoreDue::step);
    ScoredValidation scored{.command = score, .numbers = due->numbers};
    scored.numbers.insert(score.scores.begin(), score.scores.end());
    all.push_back(std::move(scored));
    state.scores_due.erase(due);
    scored_at_[score.step] = state.step;
  }
  return all;
}

void ValidationScores::stop() {
  if (command_) command_->stop();
}

void ValidationScores::drop_after(int64_t step, TrainState& state) {
  std::erase_if(state.scores_due, [&](const ScoreDue& due) { return due.step > step; });
  if (command_) command_->drop_after(step);
}

void ValidationScores::remove_texts(int64_t saved_step) {
  if (!command_) return;
  std::erase_if(scored_at_, [&](const auto& scored) { return scored.second <= saved_step; });
  std::set<int64_t> kept;
  for (const auto& [step, at] : scored_at_) kept.insert(step);
  command_->remove_texts_except(kept);
}

}  // namespace weft
