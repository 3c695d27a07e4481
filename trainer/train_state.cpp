// trainer/train_state.cpp: state.json, written and read.
#include "trainer/train_state.h"

#include "tensor/error.h"

namespace weft {

using nlohmann::json;

// One list a struct, for both directions; reading insists on every field.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cursor, epoch, position, pending)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DataOrder, manifest_sha256, seed, rows, source_rows, look_ahead, page, window)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelForm, norm, activation, positions, position_offset, scale_embeddings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BestScore, metric, value, step, stale)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainState, step, optimizer_steps, seconds, cursor, order, model, best)

json TrainState::to_json() const { return *this; }

TrainState TrainState::from_json(const json& j) try { return j.get<TrainState>(); } catch (const json::exception& e) {
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
