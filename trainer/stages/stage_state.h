// trainer/stages/stage_state.h: what a checkpoint stores about the stages of its run's data (trainer/stages/stages.h).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/order/mix.h"

namespace weft {

struct RunCorpus {  // as the run last saw it
  std::string folder, manifest_sha256;
};

struct PastStage {  // a finished stage, or the current one
  std::string name;
  std::vector<MixCorpus> corpora;
  int64_t first_step = 0;
};

// True if two mixes have the same corpora, by number, with the same weights and minimum scores.
bool is_same_mix(const std::vector<MixCorpus>& a, const std::vector<MixCorpus>& b);

struct StageState {
  std::vector<RunCorpus> corpora;  // by number
  std::vector<PastStage> stages;   // finished ones, followed by the current one
  int64_t steps = 0;               // steps of the current stage
  int64_t target_tokens = 0;
  std::vector<int64_t> passed;  // pairs per corpus of the current stage, including pairs that do not fit a block
};
void to_json(nlohmann::json& j, const StageState& state);
void from_json(const nlohmann::json& j, StageState& state);

}  // namespace weft
