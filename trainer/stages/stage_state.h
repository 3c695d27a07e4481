// trainer/stages/stage_state.h: defines what a checkpoint stores about the stages of its run (trainer/stages/stages.h).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/order/mix.h"

namespace weft {

struct RunCorpus {  // a corpus as the run last saw it
  std::string folder, manifest_sha256;
};

struct PastStage {  // a finished stage, or the current one
  std::string name;
  std::vector<MixCorpus> corpora;
  int64_t first_step = 0;
};

// True if two mixes contain corpora with the same numbers, weights and minimum scores.
bool is_same_mix(const std::vector<MixCorpus>& a, const std::vector<MixCorpus>& b);

struct StageState {
  std::vector<RunCorpus> corpora;  // indexed by corpus number
  std::vector<PastStage> stages;   // finished stages, then the current stage
  int64_t steps = 0;               // steps done in the current stage
  int64_t target_tokens = 0;
  std::vector<int64_t> passed;  // pairs read per corpus of the current stage, including pairs that are too long
};
void to_json(nlohmann::json& j, const StageState& state);
void from_json(const nlohmann::json& j, StageState& state);

}  // namespace weft
