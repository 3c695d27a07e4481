// tests/prediction/prediction.h: the predicted time of a training step on one GPU, op by op, and what `weft bench`
// measured beside it (docs/development/gpu-kernels.md).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/prediction/gpu_model.h"
#include "tests/prediction/op_time.h"
#include "trainer/config/run_config.h"

namespace weft {

struct Prediction {
  GpuKind gpu = GpuKind::h100;
  RunConfig config;
  std::vector<PredictedOp> block, step;          // of a block, and what a step adds; each the longest first
  double block_seconds = 0, added_seconds = 0;   // sums of the two
  int64_t source_tokens = 0, target_tokens = 0;  // real ones of a step
  double step_seconds() const { return static_cast<double>(config.batch.blocks) * block_seconds + added_seconds; }
  double tokens_per_second() const { return static_cast<double>(target_tokens) / step_seconds(); }
};

// Fills in the vocabulary of `weft bench` if none is given, bf16 for automatic precision, and graphs. Error of kind
// usage for what is not predicted: several ranks, and f32.
RunConfig resolve_prediction(RunConfig config);

// `config` comes from resolve_prediction. The step has the sentences of `weft bench` (trainer/bench/synthetic_step.h).
// A CUDA module must be there, a real one or the emulated device's.
Prediction predict(GpuKind gpu, const RunConfig& config);

struct ComparedOp {  // all its calls in a step of one block, launched by themselves
  std::string name;  // of a PredictedOp
  int64_t calls = 0;
  double measured = 0, predicted = 0;  // seconds
};

// `measured`: what `weft bench --json` printed of `config`. The greatest difference comes first.
std::vector<ComparedOp> compare_with_prediction(GpuKind gpu, const RunConfig& config, const nlohmann::json& measured);

}  // namespace weft
