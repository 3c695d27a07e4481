// trainer/inference/evaluate.h: quality of a model on held-out text: BLEU and chrF of translations, loss of
// given pairs.
//
// Every rank of the world calls these with the same arguments; all get the same results.
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

// Pairs of a packed corpus: sources as tokens, references as the text of their tokens. The tags of a target are no
// text (data/tags.h): they are forced when the source is translated.
struct HeldOutSet {
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::vector<int32_t>> prefixes;  // tags of the targets
  std::vector<std::string> references;
};
HeldOutSet read_held_out(Corpus& corpus, const Tokenizer& target, int64_t count);  // -1: all
// Asks stop(), which agrees between the ranks, every few sentences; returns nothing once that is true. `kept` gets the
// best translations of its size's first sentences.
std::optional<TranslationScore> evaluate(Translator& translator, const HeldOutSet& set, Communicator& dp,
                                         const std::function<bool()>& stop, std::vector<Translation>& kept);

// Sums over this dp rank's blocks, then over all ranks: nats and target tokens. `total` is the buffer for the
// sums.
struct LossSums {
  BlockLoss sums;
  int64_t tokens = 0;
  double loss() const { return sums.loss / static_cast<double>(tokens); }  // a target token, smoothed
  double nll() const { return sums.nll / static_cast<double>(tokens); }    // plain
};
LossSums validation_loss(Pass& p, const Transformer& model, const std::vector<Block>& blocks, double smoothing,
                         const LossTotal& total, Communicator& dp);

// The model's probability of each target, in order, given its first tokens.
struct PairScore {
  double log_prob = 0;  // natural logarithm, eos included
  int64_t tokens = 0;   // target tokens and eos, without those that are given
};
// A pair with a side longer than longest_scored_tokens(model) is an Error of kind data that names its number, from 0.
// given: the number of first target tokens of each pair whose probability is not asked for; empty: none.
std::vector<PairScore> score_pairs(const Replica& replica, const std::vector<PairIds>& pairs,
                                   const std::vector<int64_t>& given = {});
int64_t longest_scored_tokens(const Transformer& model);

}  // namespace weft
