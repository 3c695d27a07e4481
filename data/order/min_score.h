// data/order/min_score.h: restricts training to the pairs of a corpus that reach a given score. Other pairs are passed
// over when the stream of pairs is planned. The corpus, its order and its epochs do not change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/order/mix.h"
#include "data/order/pair_order.h"

namespace weft {

// Sets the min scores of a mix from an option's text: one min score for all corpora, or min scores for some corpora,
// such as "packed/crawl:0.8,packed/web:1.05". An empty text sets none. Throws a usage Error that names `option`.
void set_min_scores(const std::string& option, const std::string& text, std::vector<MixCorpus>& mix);
std::string min_scores_text(const std::vector<MixCorpus>& mix);  // in the second form; empty if there are none

// Returns the number of pairs with a score of at least `min_score`. Reads all scores, in pieces.
int64_t count_usable(Corpus& corpus, float min_score);

// Returns a function that reads the lengths of pairs, in the variant that the epoch uses (data/order/variant_turns.h).
// Pairs with a score below `min_score` get kBelowScore. REQUIRES: the corpus outlives the function.
LengthSource lengths_of(Corpus& corpus, std::optional<float> min_score,
                        const std::function<int64_t(int64_t epoch)>& variant_of);

}  // namespace weft
