// trainer/stages/stage_state.h: what a checkpoint holds of the stages of its run's data (trainer/stages/stages.h).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/order/mix.h"

namespace weft {

struct RunCorpus {  // as the run has seen it last
  std::string folder, manifest_sha256;
};

struct PastStage {  // or the present one
  std::string name;
  std::vector<MixCorpus> corpora;
  int64_t first_step = 0;
};

// Whether two mixes have the same corpora, by number, with the same weights and scores.
bool is_same_mix(const std::vector<MixCorpus>& a, const std::vector<MixCorpus>& b);

// What a checkpoint holds of the stages.
struct StageState {
  std::vector<RunCorpus> corpora;  // by number
  std::vector<PastStage> stages;   // that are over, and at last the present one
  int64_t steps = 0;               // of the present one
  int64_t target_tokens = 0;
  std::vector<int64_t> passed;  // pairs of each of its corpora, with those left out because they do not fit a block
};
void to_json(nlohmann::json& j, const StageState& state);
void from_json(const nlohmann::json& j, StageState& state);

}  // namespace weft
