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
          {"best", {{"known", best.known}, {"value", best.value}, {"step", best.step}, {"stale", best.stale}}}};
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
  const json& best = j.at("best");
  best.at("known").get_to(s.best.known);
  best.at("value").get_to(s.best.value);
  best.at("step").get_to(s.best.step);
  best.at("stale").get_to(s.best.stale);
  return s;
} catch (const json::exception& e) {
  fail(ErrorKind::checkpoint, fmt::format("state.json: {}", e.what()));
}

void require_same_order(const DataOrder& saved, const DataOrder& now) {
  const auto same = [](const char* option, const auto& before, const auto& after) {
    if (before != after)
      fail(ErrorKind::usage,
           fmt::format("the run was begun with {} = {}, now it is {}: its place in the data would be lost; "
                       "use the old value, or another --train.output, or --train.fresh=true",
                       option, before, after));
  };
  same("train.seed", saved.seed, now.seed);
  same("batch.rows", saved.rows, now.rows);
  same("batch.source_rows", saved.source_rows, now.source_rows);
  same("batch.look_ahead", saved.look_ahead, now.look_ahead);
  same("batch.page", saved.page, now.page);
  same("batch.window", saved.window, now.window);
  same("data.train (SHA-256 of its manifest)", saved.manifest_sha256, now.manifest_sha256);
}

}  // namespace weft
