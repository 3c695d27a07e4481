// trainer/train_state.h: everything but tensors that the next step needs; `state.json` of a checkpoint.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "data/block_plan.h"

namespace weft {

// What the order of sentences depends on. A run goes on only with the same; otherwise its cursor would mean something
// else.
struct DataOrder {
  std::string manifest_sha256;
  uint64_t seed = 0;
  int64_t rows = 0, source_rows = 0, look_ahead = 0, page = 0, window = 0;
  bool operator==(const DataOrder&) const = default;
};

struct BestScore {
  bool known = false;
  double value = 0;  // of the metric named by train.keep_best
  int64_t step = 0;
  int64_t stale = 0;  // validations since then
};

struct TrainState {
  int64_t step = 0;             // steps done
  int64_t optimizer_steps = 0;  // of these, not skipped
  double seconds = 0;           // spent in steps, over all parts of the run
  Cursor cursor;                // where the next step begins
  DataOrder order;
  BestScore best;

  nlohmann::json to_json() const;
  static TrainState from_json(
      const nlohmann::json& json);  // a missing or mistyped field is an Error of kind checkpoint
};

// Nothing if a run with order `now` may go on from `saved`; otherwise an Error that names the option that differs.
void require_same_order(const DataOrder& saved, const DataOrder& now);

}  // namespace weft
