// trainer/inference/minimum_risk.cpp: compares each distinct sample with each other one.
#include "trainer/inference/minimum_risk.h"

#include <algorithm>
#include <map>

#include "trainer/metrics/bleu.h"
#include "trainer/metrics/chrf.h"

namespace weft {

std::vector<double> expected_utilities(const std::vector<std::string>& samples, RiskUtility utility) {
  BleuOptions options{.effective_order = true};
  if (utility == RiskUtility::bleu) options.tokenizer = chosen_tokenizer(BleuTokenizer::automatic, samples);
  const auto similarity = [&](const std::string& hypothesis, const std::string& reference) {
    if (utility == RiskUtility::chrf) return chrf_from_stats(chrf_stats(hypothesis, {reference}), 1).score;
    return bleu_from_stats(bleu_stats(hypothesis, {reference}, options), 1, options).score;
  };
  std::map<std::string, int64_t> counts;
  for (const std::string& sample : samples) ++counts[sample];
  std::map<std::string, double> means;
  for (const auto& [hypothesis, unused] : counts) {
    double sum = 0;
    for (const auto& [reference, count] : counts) sum += static_cast<double>(count) * similarity(hypothesis, reference);
    means[hypothesis] = sum / static_cast<double>(samples.size());
  }
  std::vector<double> utilities;
  for (const std::string& sample : samples) utilities.push_back(means.at(sample));
  return utilities;
}

}  // namespace weft
