// trainer/train_state.cpp: writes and reads state.json.
#include "trainer/train_state.h"

#include <nlohmann/json.hpp>

#include "data/strict_json.h"
#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {

using nlohmann::json;

void to_json(json& j, const Cursor& c) {
  j = {{"epoch", c.epoch}, {"position", c.position}, {"pending", c.pending}};
  if (!c.epochs.empty()) j["epochs"] = c.epochs;
}
void from_json(const json& j, Cursor& c) {
  j.at("epoch").get_to(c.epoch);
  j.at("position").get_to(c.position);
  j.at("pending").get_to(c.pending);
  c.epochs = j.value("epochs", std::vector<int64_t>());
  if (j.contains("visits")) fail(ErrorKind::checkpoint, "a checkpoint of Weft 0.1 can be resumed only by Weft 0.1");
}

// If there is only one corpus, writes its cursor without a list around it.
void to_json(json& j, const StreamCursor& c) {
  if (c.corpora.size() == 1 && c.turns.empty())
    j = c.corpora.front();
  else
    j = {{"corpora", c.corpora}, {"turns", c.turns}, {"begins", c.begins}};
}
void from_json(const json& j, StreamCursor& c) {
  c = {};
  if (!j.contains("corpora")) {
    c.corpora.push_back(j.get<Cursor>());
    return;
  }
  j.at("corpora").get_to(c.corpora);
  j.at("turns").get_to(c.turns);
  j.at("begins").get_to(c.begins);
}

void to_json(json& j, const StepCursor& c) {
  j = {{"next_stream", c.next_stream}, {"streams", json::array()}};
  for (const auto& [stream, cursor] : c.streams) j["streams"].push_back(cursor);
}
void from_json(const json& j, StepCursor& c) {
  const auto streams = j.at("streams").get<std::vector<StreamCursor>>();
  c = {.num_streams = static_cast<int64_t>(streams.size()),
       .next_stream = j.at("next_stream").get<int64_t>(),
       .streams = {}};
  for (const StreamCursor& cursor : streams) c.streams.emplace(static_cast<int64_t>(c.streams.size()), cursor);
}

// Each list of fields defines both how a struct is written and how it is read. Reading requires every field.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BestScore, metric, value, step, stale)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScoreDue, step, numbers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LossScale, value, good_steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DivergenceState, recent, lowest, good_until, not_finite, rollbacks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdapterState, base, scale)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RateSums, highest, squares)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainState, step, optimizer_steps, seconds, cursor, precision, loss_scale, best,
                                   divergence)

json TrainState::to_json() const {
  json j = *this;
  if (rate_sums) j["rate_sums"] = *rate_sums;
  if (adapters) j[kAdaptersKey] = *adapters;
  if (!scores_due.empty()) j["scores_due"] = scores_due;
  if (validation_due) j["validation_due"] = true;
  if (best.kept.size() > 1)
    for (const auto& [step, value] : best.kept) j["best"]["kept"].push_back({{"step", step}, {"value", value}});
  if (!data.stages.empty()) j["data"] = data;
  return j;
}

namespace {

// Throws an Error unless each number of `j` is an integer wherever `example` contains an integer.
void require_whole_numbers(const json& j, const json& example, const std::string& name, const std::string& path) {
  if (example.is_number_integer()) require_whole_number(j, name, path, ErrorKind::checkpoint);
  if (example.is_object() && j.is_object()) {
    for (const auto& [key, value] : example.items())
      if (j.contains(key)) require_whole_numbers(j[key], value, key, path);
  } else if (example.is_array() && j.is_array()) {
    for (const json& element : j) require_whole_numbers(element, example[0], name, path);
  }
}

json example_of_state() {
  const Cursor cursor{.epoch = 0, .position = 0, .pending = {0}, .epochs = {0}};
  TrainState example;
  example.cursor.streams = {{0, {.corpora = {cursor, cursor}, .turns = {0}, .begins = {0}}}};
  example.divergence.recent = {0.0};
  example.scores_due.emplace_back();
  example.best.kept = {{0, 0.0}, {1, 0.0}};
  example.data = {.corpora = {{}}, .stages = {{.corpora = {{}}}}, .passed = {0}};
  json j = example.to_json();
  j["cursor"]["streams"][0].update(json(cursor));  // the fields of a single corpus
  return j;
}

}  // namespace

TrainState TrainState::from_json(const json& j, const std::string& folder) try {
  require_whole_numbers(j, example_of_state(), "state", folder + "/state.json");
  TrainState state = j.get<TrainState>();
  if (j.contains("rate_sums")) state.rate_sums = j.at("rate_sums").get<RateSums>();
  if (j.contains(kAdaptersKey)) state.adapters = j.at(kAdaptersKey).get<AdapterState>();
  if (j.contains("scores_due")) j.at("scores_due").get_to(state.scores_due);
  state.validation_due = j.value("validation_due", false);
  if (j.at("best").contains("kept"))
    for (const json& one : j.at("best").at("kept"))
      state.best.kept[one.at("step").get<int64_t>()] = one.at("value").get<double>();
  if (j.contains("data")) j.at("data").get_to(state.data);
  return state;
} catch (const json::exception& e) {
  fail(ErrorKind::checkpoint, fmt::format("{}/state.json: {}", folder, e.what()));
}

std::string streams_to_text(const std::map<int64_t, StreamCursor>& streams) { return json(streams).dump(); }
std::map<int64_t, StreamCursor> streams_from_text(const std::string& text) {
  return json::parse(text).get<std::map<int64_t, StreamCursor>>();
}

// Writes the state without its streams as one line, then one line per stream.
std::string state_to_text(const TrainState& state) {
  json fields = state.to_json();
  json streams = std::move(fields["cursor"]["streams"]);
  fields["cursor"]["streams"] = json::array();
  std::string text = fields.dump();
  for (const json& stream : streams) text += '\n' + stream.dump();
  return text;
}
TrainState state_from_text(const std::string& text, int64_t num_blocks, int dp_rank, int dp_size) {
  const std::vector<std::string_view> lines = split(text, '\n');
  TrainState state = TrainState::from_json(json::parse(lines[0]), "");
  StepCursor& cursor = state.cursor;
  cursor.num_streams = static_cast<int64_t>(lines.size()) - 1;
  for (const int64_t i : streams_of_rank(num_blocks, cursor.num_streams, cursor.next_stream, dp_rank, dp_size))
    cursor.streams.emplace(i, json::parse(lines[static_cast<size_t>(i) + 1]).get<StreamCursor>());
  return state;
}

}  // namespace weft
