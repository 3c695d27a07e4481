// trainer/inference/minimum_risk.h: minimum Bayes risk decoding (Kumar & Byrne 2004) over samples of a model (Eikema &
// Aziz 2020): the best sample is the one that is most similar to the others, on average.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/enum_names.h"

namespace weft {

// The similarity of a sample (hypothesis) and another one (reference), from 0 to 100. chrf: chrF of the two texts.
// bleu: BLEU with effective order and smoothing `exp`, as sacreBLEU's sentence_bleu; its tokenizer depends on the
// samples, as with BleuTokenizer::automatic.
enum class RiskUtility : uint8_t { none, chrf, bleu };
constexpr EnumNames<RiskUtility, 3> enum_names(RiskUtility) {
  return {{{"none", RiskUtility::none}, {"chrf", RiskUtility::chrf}, {"bleu", RiskUtility::bleu}}};
}

// Returns the mean similarity of each sample to all samples, itself included.
std::vector<double> expected_utilities(const std::vector<std::string>& samples, RiskUtility utility);

}  // namespace weft
