// trainer/prediction/prediction.h: the predicted time of a training step on one GPU, without a GPU (docs/cuda.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"
#include "trainer/prediction/gpu_model.h"
#include "trainer/prediction/op_time.h"

namespace weft {

struct Prediction {
  GpuKind gpu = GpuKind::none;
  RunConfig config;
  int64_t parameters = 0;
  std::vector<PredictedOp> block, step;          // of a block, and what a step adds; each the longest first
  double block_seconds = 0, added_seconds = 0;   // sums of the two
  int64_t source_tokens = 0, target_tokens = 0;  // real ones of a step
  double step_seconds() const { return static_cast<double>(config.batch.blocks) * block_seconds + added_seconds; }
  double tokens_per_second() const { return static_cast<double>(target_tokens) / step_seconds(); }
};

inline constexpr int64_t kPredictionVocabulary = 32768;

// Like resolve_bench (bench.h), with kPredictionVocabulary for vocabularies that are not given and bf16 for
// automatic precision. Refuses what is not predicted: several ranks, and f32.
RunConfig resolve_prediction(RunConfig config);

// `config` comes from resolve_prediction. The step has the sentences of `weft bench` (synthetic_step.h).
Prediction predict(GpuKind gpu, const RunConfig& config);

}  // namespace weft
