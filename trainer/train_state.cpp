// trainer/train_state.cpp: writes and reads state.json.
#include "trainer/train_state.h"

#include <nlohmann/json.hpp>

#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {

using nlohmann::json;

// Checkpoints of version 0.1 have no norm_kind, since layer norm was the only one, and no sizes.
void to_json(json& j, const Architecture& a) {
  j = {{"norm", a.norm},
       {"norm_kind", a.norm_kind},
       {"activation", a.activation},
       {"positions", a.positions},
       {"position_offset", a.position_offset},
       {"scale_embeddings", a.scale_embeddings},
       {"width", a.width},
       {"heads", a.heads},
       {"feed_forward", a.feed_forward},
       {"encoder_layers", a.encoder_layers},
       {"decoder_layers", a.decoder_layers}};
}
void from_json(const json& j, Architecture& a) {
  j.at("norm").get_to(a.norm);
  a.norm_kind = j.value("norm_kind", "layer");
  j.at("activation").get_to(a.activation);
  j.at("positions").get_to(a.positions);
  j.at("position_offset").get_to(a.position_offset);
  j.at("scale_embeddings").get_to(a.scale_embeddings);
  a.width = j.value("width", int64_t{0});
  a.heads = j.value("heads", int64_t{0});
  a.feed_forward = j.value("feed_forward", int64_t{0});
  a.encoder_layers = j.value("encoder_layers", int64_t{0});
  a.decoder_layers = j.value("decoder_layers", int64_t{0});
}

void to_json(json& j, const Cursor& c) {
  j = {{"epoch", c.epoch}, {"position", c.position}, {"pending", c.pending}};
  if (!c.visits.empty()) j["visits"] = c.visits;
}
void from_json(const json& j, Cursor& c) {
  j.at("epoch").get_to(c.epoch);
  j.at("position").get_to(c.position);
  j.at("pending").get_to(c.pending);
  c.visits = j.value("visits", std::vector<int64_t>());  // versions up to 0.1 wrote none
}

// Of a single corpus: its cursor stands alone.
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

// A list of all streams. Checkpoints of version 0.1 have one stream: its cursor stands alone.
void to_json(json& j, const StepCursor& c) {
  j = {{"next_stream", c.next_stream}, {"streams", json::array()}};
  for (const auto& [stream, cursor] : c.streams) j["streams"].push_back(cursor);
}
void from_json(const json& j, StepCursor& c) {
  const bool has_streams = j.contains("streams");
  const auto streams =
      has_streams ? j.at("streams").get<std::vector<StreamCursor>>() : std::vector{j.get<StreamCursor>()};
  c = {.num_streams = static_cast<int64_t>(streams.size()),
       .next_stream = has_streams ? j.at("next_stream").get<int64_t>() : 0,
       .streams = {}};
  for (const StreamCursor& cursor : streams) c.streams.emplace(static_cast<int64_t>(c.streams.size()), cursor);
}

// One list of fields for each struct serves both directions; reading requires every field.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DataOrder, manifest_sha256, seed, rows, source_rows, look_ahead, page, window)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BestScore, metric, value, step, stale)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScoreDue, step, numbers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LossScale, value, good_steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DivergenceState, recent, lowest, good_until, not_finite, rollbacks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RateSums, highest, squares)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainState, step, optimizer_steps, seconds, cursor, order, model, precision,
                                   loss_scale, best)

Architecture Architecture::of(const ModelConfig& c) {
  return {.norm = name_of_enum(c.norm),
          .norm_kind = name_of_enum(c.norm_kind),
          .activation = name_of_enum(c.activation),
          .positions = name_of_enum(c.positions),
          .position_offset = c.position_offset,
          .scale_embeddings = c.scale_embeddings,
          .width = c.width,
          .heads = c.heads,
          .feed_forward = c.feed_forward,
          .encoder_layers = c.encoder_layers,
          .decoder_layers = c.decoder_layers};
}

json TrainState::to_json() const {
  json j = *this;
  j["divergence"] = divergence;
  if (optimizer != "adam") j["optimizer"] = optimizer;
  if (optimizer == "schedule_free") j["rate_sums"] = rate_sums;
  if (!scores_due.empty()) j["scores_due"] = scores_due;
  if (validation_due) j["validation_due"] = true;
  if (best.kept.size() > 1)
    for (const auto& [step, value] : best.kept) j["best"]["kept"].push_back({{"step", step}, {"value", value}});
  if (!data.stages.empty()) j["data"] = data;
  return j;
}

namespace {

// Every number that is an integer in `example`.
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
  const Cursor cursor{.epoch = 0, .position = 0, .pending = {0}, .visits = {0}};
  TrainState example;
  example.cursor.streams = {{0, {.corpora = {cursor, cursor}, .turns = {0}, .begins = {0}}}};
  example.divergence.recent = {0.0};
  example.scores_due.emplace_back();
  example.best.kept = {{0, 0.0}, {1, 0.0}};
  example.data = {.corpora = {{}}, .stages = {{.parts = {{}}}}, .passed = {0}};
  json j = example.to_json();
  j["cursor"]["streams"][0].update(json(cursor));  // of a single corpus
  j["cursor"].update(json(cursor));                // as in version 0.1
  return j;
}

}  // namespace

TrainState TrainState::from_json(const json& j, const std::string& folder) try {
  require_whole_numbers(j, example_of_state(), "state", folder + "/state.json");
  TrainState state = j.get<TrainState>();
  if (j.contains("divergence")) j.at("divergence").get_to(state.divergence);  // earlier versions did not watch
  state.optimizer = j.value("optimizer", "adam");
  if (state.optimizer == "schedule_free") j.at("rate_sums").get_to(state.rate_sums);
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

// A line without streams, and one for each stream.
std::string state_to_text(const TrainState& state) {
  json fields = state.to_json();
  json streams = std::move(fields["cursor"]["streams"]);
  fields["cursor"]["streams"] = json::array();
  std::string text = fields.dump();
  for (const json& stream : streams) text += '\n' + stream.dump();
  return text;
}
TrainState state_from_text(const std::string& text, int64_t num_blocks, int dp_rank, int dp_size) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find('\n', begin);
    lines.push_back(std::string_view(text).substr(begin, end - begin));
  }
  TrainState state = TrainState::from_json(json::parse(lines[0]), "");
  StepCursor& cursor = state.cursor;
  cursor.num_streams = static_cast<int64_t>(lines.size()) - 1;
  for (const int64_t i : streams_of_rank(num_blocks, cursor.num_streams, cursor.next_stream, dp_rank, dp_size))
    cursor.streams.emplace(i, json::parse(lines[static_cast<size_t>(i) + 1]).get<StreamCursor>());
  return state;
}

namespace {

std::string shown(const auto& value) { return printable(fmt::format("{}", value)); }  // may be text from a file

// Calls same(option, before, after) for each field.
template <typename Same>
void compare_architectures(const Architecture& before, const Architecture& after, Same&& same) {
  same("model.norm", before.norm, after.norm);
  same("model.norm_kind", before.norm_kind, after.norm_kind);
  same("model.activation", before.activation, after.activation);
  same("model.positions", before.positions, after.positions);
  same("model.position_offset", before.position_offset, after.position_offset);
  same("model.scale_embeddings", before.scale_embeddings, after.scale_embeddings);
  const auto same_size = [&](const char* option, int64_t size, int64_t now) {
    if (size != 0) same(option, size, now);
  };
  same_size("model.width", before.width, after.width);
  same_size("model.heads", before.heads, after.heads);
  same_size("model.feed_forward", before.feed_forward, after.feed_forward);
  same_size("model.encoder_layers", before.encoder_layers, after.encoder_layers);
  same_size("model.decoder_layers", before.decoder_layers, after.decoder_layers);
}

}  // namespace

void require_same_run(const TrainState& saved, const TrainState& now) {
  const auto same = [](const char* option, const auto& before, const auto& after, const char* otherwise) {
    if (before != after)
      fail(ErrorKind::usage,
           fmt::format("the run started with {} = {}, now it is {}: {}; use the old value, or another "
                       "--train.output, or --train.fresh=true",
                       option, shown(before), shown(after), otherwise));
  };
  require(saved.cursor.num_streams > 0, ErrorKind::checkpoint, "the checkpoint does not say where it is in the data");
  const char* const lost = "its place in the data would be lost";
  same("train.seed", saved.order.seed, now.order.seed, lost);
  same("batch.rows", saved.order.rows, now.order.rows, lost);
  same("batch.source_rows", saved.order.source_rows, now.order.source_rows, lost);
  same("batch.look_ahead", saved.order.look_ahead, now.order.look_ahead, lost);
  same("batch.page", saved.order.page, now.order.page, lost);
  same("batch.window", saved.order.window, now.order.window, lost);
  if (!now.order.manifest_sha256.empty())
    same("data.train (SHA-256 of its manifest)", saved.order.manifest_sha256, now.order.manifest_sha256, lost);
  same("optimizer.kind", saved.optimizer, now.optimizer, "its state is another one");
  compare_architectures(saved.model, now.model, [&](const char* option, const auto& before, const auto& after) {
    same(option, before, after, "its parameters mean another model");
  });
}

void require_same_architecture(const Architecture& initial, const Architecture& now, const std::string& folder) {
  compare_architectures(initial, now, [&](const char* option, const auto& before, const auto& after) {
    if (before != after)
      fail(ErrorKind::usage, fmt::format("the model of {} has {} = {}, this run's has {}: set the option to its value",
                                         folder, option, shown(before), shown(after)));
  });
}

}  // namespace weft
