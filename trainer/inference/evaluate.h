// trainer/inference/evaluate.h: measures BLEU and chrF of a model's translations, and the model's loss on pairs.
//
// All ranks of the world must call these functions with the same arguments, and get the same results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "trainer/inference/translator.h"
#include "trainer/metrics/bleu.h"
#include "trainer/metrics/chrf.h"

namespace weft {

struct TranslationScore {
  int64_t sentences = 0;
  BleuScore bleu;
  ChrfScore chrf;
};
TranslationScore score_translations(const std::vector<std::string>& hypotheses,
                                    const std::vector<std::string>& references, BleuTokenizer tokenizer);

std::vector<std::string> best_texts(const std::vector<NBest>& translations);

// Contains pairs of a packed corpus: the sources as tokens, and the references as raw text, or as decoded tokens if the
// corpus stores no raw text. The text of a reference lacks the tags of the target (data/tags.h), so the translation is
// forced to start with these tags.
struct HeldOutSet {
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::vector<int32_t>> prefixes;  // tags of the targets
  std::vector<std::string> references;
};
HeldOutSet read_held_out(Corpus& corpus, const Tokenizer& target, int64_t count);  // count = -1: all pairs
// Calls stop() every few sentences, and returns nullopt as soon as stop() is true. All ranks must get the same results
// from stop(). Stores the best translations of the first kept.size() sentences in `kept`.
std::optional<TranslationScore> evaluate(Translator& translator, const HeldOutSet& set, BleuTokenizer tokenizer,
                                         Communicator& dp, const std::function<bool()>& stop,
                                         std::vector<Translation>& kept);

// Losses in nats and the number of target tokens, both summed over the blocks of all dp ranks.
struct LossSums {
  BlockLoss sums;
  int64_t tokens = 0;
  double loss() const { return sums.loss / static_cast<double>(tokens); }  // per target token, with label smoothing
  double nll() const { return sums.nll / static_cast<double>(tokens); }    // without label smoothing
};
LossSums validation_loss(Pass& p, const Transformer& model, const std::vector<Block>& blocks, double smoothing,
                         const LossTotal& total, Communicator& dp);

// The log probability that the model assigns to a target, given its source.
struct PairScore {
  double log_prob = 0;            // natural logarithm, including eos
  std::vector<double> log_probs;  // of each scored token and of eos; log_prob is their sum, in this order
  int64_t tokens() const { return std::ssize(log_probs); }
  double per_token() const { return log_prob / static_cast<double>(tokens()); }
};
// Returns a score between 0 and 1 for filtering pairs, from the scores of models of both directions:
// exp(-(|a - b| + (a + b) / 2)), where a and b are cross-entropies per token (Junczys-Dowmunt 2018, "Dual Conditional
// Cross-Entropy Filtering of Noisy Parallel Corpora", section 2.2).
double adequacy(const PairScore& forward, const PairScore& backward);
// The first given[i] target tokens of pair i are not scored; if `given` is empty, all are. Throws an Error of kind data
// that names the index of a pair if the source or target has more than longest_scored_tokens(model) tokens.
std::vector<PairScore> score_pairs(const Replica& replica, const std::vector<PairIds>& pairs,
                                   const std::vector<int64_t>& given = {});
int64_t longest_scored_tokens(const Transformer& model);

}  // namespace weft
