// trainer/train_state.h: defines state.json of a checkpoint: what the next step needs besides tensors and options.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/order/step_plan.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/health/divergence.h"
#include "trainer/optimizer/loss_scaler.h"
#include "trainer/optimizer/rate_sums.h"
#include "trainer/stages/stage_state.h"

namespace weft {

struct BestScore {
  std::string metric;  // the rule's text (BestRule); empty before the first validation
  double value = 0;    // higher is better
  int64_t step = 0;
  int64_t stale = 0;                    // validations since `step`
  std::map<int64_t, double> kept = {};  // step -> value of the best checkpoints (train.keep_best_checkpoints)

  // Forgets the kept checkpoints of steps after `last`, except the best one.
  void drop_after(int64_t last) {
    std::erase_if(kept, [&](const auto& entry) { return entry.first > last && entry.first != step; });
  }
};

// A validation whose score train.validate_command has not printed yet.
struct ScoreDue {
  int64_t step = 0;
  std::map<std::string, double> numbers;  // the validation's finite numbers by their keys in log.jsonl
};

struct TrainState {
  int64_t step = 0;             // steps done
  int64_t optimizer_steps = 0;  // steps that were not skipped
  double seconds = 0;           // spent in steps, including steps before a resume
  StepCursor cursor;            // data position of the next step
  StageState data;
  std::optional<RateSums> rate_sums;  // for optimizer.kind = schedule_free
  std::string precision = "f32";      // precision of the last step: f32, bf16 or f16
  LossScale loss_scale;               // for the next step, in the same precision
  BestScore best;
  DivergenceState divergence;
  std::vector<ScoreDue> scores_due;      // ordered by step
  std::optional<AdapterState> adapters;  // of a run with lora.rank
  bool validation_due = false;           // a stop request postponed the validation after `step` until the run resumes

  nlohmann::json to_json() const;
  // Throws an Error of kind checkpoint that names `folder` if a field is missing or has a wrong type.
  static TrainState from_json(const nlohmann::json& json, const std::string& folder);
};

// Convert the cursors of a rank's streams to text, which is sent to other ranks, and back.
std::string streams_to_text(const std::map<int64_t, StreamCursor>& streams);
std::map<int64_t, StreamCursor> streams_from_text(const std::string& text);

// Convert a state to text, which is sent to other ranks, and back. state_from_text() parses only the streams that the
// given dp rank plans, because a run may have many streams.
std::string state_to_text(const TrainState& state);
TrainState state_from_text(const std::string& text, int64_t num_blocks, int dp_rank, int dp_size);

}  // namespace weft
