// trainer/train_state.cpp: state.json, written and read.
#include "trainer/train_state.h"

#include "tensor/error.h"

namespace weft {

using nlohmann::json;

json TrainState::to_json() const {
  return {{"step", step},
          {"optimizer_steps", optimizer_steps},
          {"seconds", seconds},
          {"cursor", {{"epoch", cursor.epoch}, {"position", cursor.position}, {"pending", cursor.pending}}},
          {"order",
           {{"manifest_sha256", order.manifest_sha256},
            {"seed", order.seed},
            {"rows", order.rows},
            {"source_rows", order.source_rows},
            {"look_ahead", order.look_ahead},
            {"page", order.page},
            {"window", order.window}}},
          {"model",
           {{"norm", model.norm},
            {"activation", model.activation},
            {"positions", model.positions},
            {"position_offset", model.position_offset},
            {"scale_embeddings", model.scale_embeddings}}},
          {"best", {{"metric", best.metric}, {"value", best.value}, {"step", best.step}, {"stale", best.stale}}}};
}

TrainState TrainState::from_json(const json& j) try {
  TrainState s;
  j.at("step").get_to(s.step);
  j.at("optimizer_steps").get_to(s.optimizer_steps);
  j.at("seconds").get_to(s.seconds);
  const json& cursor = j.at("cursor");
  cursor.at("epoch").get_to(s.cursor.epoch);
  cursor.at("position").get_to(s.cursor.position);
  cursor.at("pending").get_to(s.cursor.pending);
  const json& order = j.at("order");
  order.at("manifest_sha256").get_to(s.order.manifest_sha256);
  order.at("seed").get_to(s.order.seed);
  order.at("rows").get_to(s.order.rows);
  order.at("source_rows").get_to(s.order.source_rows);
  order.at("look_ahead").get_to(s.order.look_ahead);
  order.at("page").get_to(s.order.page);
  order.at("window").get_to(s.order.window);
  const json& model = j.at("model");
  model.at("norm").get_to(s.model.norm);
  model.at("activation").get_to(s.model.activation);
  model.at("positions").get_to(s.model.positions);
  model.at("position_offset").get_to(s.model.position_offset);
  model.at("scale_embeddings").get_to(s.model.scale_embeddings);
  const json& best = j.at("best");
  best.at("metric").get_to(s.best.metric);
  best.at("value").get_to(s.best.value);
  best.at("step").get_to(s.best.step);
  best.at("stale").get_to(s.best.stale);
  return s;
} catch (const json::exception& e) {
  fail(ErrorKind::checkpoint, fmt::format("state.json: {}", e.what()));
}

void require_same_run(const TrainState& saved, const TrainState& now) {
  const auto same = [](const char* option, const auto& before, const auto& after, const char* otherwise) {
    if (before != after)
      fail(ErrorKind::usage,
           fmt::format("the run was begun with {} = {}, now it is {}: {}; use the old value, or another "
                       "--train.output, or --train.fresh=true",
                       option, before, after, otherwise));
  };
  const char* const lost = "its place in the data would be lost";
  same("train.seed", saved.order.seed, now.order.seed, lost);
  same("batch.rows", saved.order.rows, now.order.rows, lost);
  same("batch.source_rows", saved.order.source_rows, now.order.source_rows, lost);
  same("batch.look_ahead", saved.order.look_ahead, now.order.look_ahead, lost);
  same("batch.page", saved.order.page, now.order.page, lost);
  same("batch.window", saved.order.window, now.order.window, lost);
  same("data.train (SHA-256 of its manifest)", saved.order.manifest_sha256, now.order.manifest_sha256, lost);
  const char* const other = "its parameters mean another model";
  same("model.norm", saved.model.norm, now.model.norm, other);
  same("model.activation", saved.model.activation, now.model.activation, other);
  same("model.positions", saved.model.positions, now.model.positions, other);
  same("model.position_offset", saved.model.position_offset, now.model.position_offset, other);
  same("model.scale_embeddings", saved.model.scale_embeddings, now.model.scale_embeddings, other);
}

}  // namespace weft
