// trainer/train_state.h: everything but tensors that the next step needs; `state.json` of a checkpoint.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/block_plan.h"
#include "model/config.h"
#include "trainer/loss_scaler.h"

namespace weft {

// What the order of sentences depends on. A run goes on only with the same; otherwise its cursor would mean something
// else.
struct DataOrder {
  std::string manifest_sha256;
  uint64_t seed = 0;
  int64_t rows = 0, source_rows = 0, look_ahead = 0, page = 0, window = 0;
};

// What the shapes of the tensors do not tell about the model that they belong to.
struct Architecture {
  std::string norm, norm_kind = "layer", activation, positions;
  int64_t position_offset = 0;
  bool scale_embeddings = true;

  static Architecture of(const ModelConfig& config);
};

struct BestScore {
  std::string metric;  // "bleu" or "loss"; empty before the first validation
  double value = 0;    // higher is better: BLEU, or the loss with a minus
  int64_t step = 0;
  int64_t stale = 0;  // validations since then
};

struct TrainState {
  int64_t step = 0;             // steps done
  int64_t optimizer_steps = 0;  // of these, not skipped
  double seconds = 0;           // spent in steps, over all parts of the run
  Cursor cursor;                // where the next step begins
  DataOrder order;
  Architecture model;
  std::string precision = "f32";  // of the last step: f32, bf16 or f16
  LossScale loss_scale;           // of the next one, in the same precision
  BestScore best;

  nlohmann::json to_json() const;
  // A missing field is an Error of kind checkpoint that names the checkpoint's folder.
  static TrainState from_json(const nlohmann::json& json, const std::string& folder);
};

// Nothing if a run that is `now` may go on from `saved`; otherwise an Error that names the option that differs.
void require_same_run(const TrainState& saved, const TrainState& now);

// Nothing if a new run whose model is `now` may begin with the parameters of the checkpoint in `folder`.
void require_same_architecture(const Architecture& initial, const Architecture& now, const std::string& folder);

}  // namespace weft
