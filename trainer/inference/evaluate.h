// trainer/inference/evaluate.h: measures a model on held-out text: BLEU and chrF of translations, loss of given pairs.
//
// Every rank of the world calls these functions with the same arguments, and all get the same results.
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

// Pairs of a packed corpus: sources as tokens, references as the text of their tokens. The tags of a target are not
// text (data/tags.h), so they are forced when the source is translated.
struct HeldOutSet {
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::vector<int32_t>> prefixes;  // tags of the targets
  std::vector<std::string> references;
};
HeldOutSet read_held_out(Corpus& corpus, const Tokenizer& target, int64_t count);  // -1: all
// Calls stop(), which agrees between the ranks, every few sentences, and returns nothing once it is true. Stores the
// best translations of the first kept.size() sentences in `kept`.
std::optional<TranslationScore> evaluate(Translator& translator, const HeldOutSet& set, Communicator& dp,
                                         const std::function<bool()>& stop, std::vector<Translation>& kept);

// Sums over this dp rank's blocks, then over all ranks: nats and target tokens. `total` is the buffer for the sums.
struct LossSums {
  BlockLoss sums;
  int64_t tokens = 0;
  double loss() const { return sums.loss / static_cast<double>(tokens); }  // per target token, smoothed
  double nll() const { return sums.nll / static_cast<double>(tokens); }    // plain
};
LossSums validation_loss(Pass& p, const Transformer& model, const std::vector<Block>& blocks, double smoothing,
                         const LossTotal& total, Communicator& dp);

// The model's probability of each target token, given the tokens before it.
struct PairScore {
  double log_prob = 0;  // natural logarithm, eos included
  int64_t tokens = 0;   // target tokens and eos, without the given ones
};
// Throws an Error of kind data with a pair's number, from 0, if a side is longer than longest_scored_tokens(model).
// `given` is the number of first target tokens of each pair that are not scored; empty: none.
std::vector<PairScore> score_pairs(const Replica& replica, const std::vector<PairIds>& pairs,
                                   const std::vector<int64_t>& given = {});
int64_t longest_scored_tokens(const Transformer& model);

}  // namespace weft
