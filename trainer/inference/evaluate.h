// trainer/inference/evaluate.h: measures BLEU and chrF of a model's translations, and its loss on given pairs.
//
// All ranks of the world call these functions with the same arguments, and get the same results.
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
                                    const std::vector<std::string>& references);

std::vector<std::string> best_texts(const std::vector<NBest>& translations);

// Pairs of a packed corpus, with sources as tokens and references as text. A target's tags are not part of its text
// (data/tags.h), so the translation is forced to start with them.
struct HeldOutSet {
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::vector<int32_t>> prefixes;  // tags of the targets
  std::vector<std::string> references;
};
HeldOutSet read_held_out(Corpus& corpus, const Tokenizer& target, int64_t count);  // -1: all
// Calls stop(), which must agree on all ranks, every few sentences, and returns nothing as soon as it is true. Stores
// the best translations of the first kept.size() sentences in `kept`.
std::optional<TranslationScore> evaluate(Translator& translator, const HeldOutSet& set, Communicator& dp,
                                         const std::function<bool()>& stop, std::vector<Translation>& kept);

// Losses in nats and target tokens, summed over the blocks of all dp ranks. `total` is the buffer for the sums.
struct LossSums {
  BlockLoss sums;
  int64_t tokens = 0;
  double loss() const { return sums.loss / static_cast<double>(tokens); }  // per target token, with label smoothing
  double nll() const { return sums.nll / static_cast<double>(tokens); }    // without it
};
LossSums validation_loss(Pass& p, const Transformer& model, const std::vector<Block>& blocks, double smoothing,
                         const LossTotal& total, Communicator& dp);

// The log probability that the model assigns to a target, given its source.
struct PairScore {
  double log_prob = 0;  // natural logarithm, eos included
  int64_t tokens = 0;   // number of scored tokens, including eos
};
// `given` is the number of first target tokens of each pair that are not scored; empty: none. Throws an Error of kind
// data that names the number of a pair, from 0, if one of its sides is longer than longest_scored_tokens(model).
std::vector<PairScore> score_pairs(const Replica& replica, const std::vector<PairIds>& pairs,
                                   const std::vector<int64_t>& given = {});
int64_t longest_scored_tokens(const Transformer& model);

}  // namespace weft
