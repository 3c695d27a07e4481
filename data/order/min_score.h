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
// such as "packed/crawl:0.8,packed/web:1.05"; empty: none. Throws a usage Error that names `option` and what is wrong.
void set_min_scores(const std::string& option, const std::string& text, std::vector<MixCorpus>& mix);
std::string min_scores_text(const std::vector<MixCorpus>& mix);  // the second form; empty: none

// Returns the number of pairs that reach this score. Reads all scores, in pieces.
int64_t count_usable(Corpus& corpus, float min_score);

// Returns a source of the pairs' lengths in the epoch's variant (data/order/variant_turns.h). Pairs with a lower score
// get kBelowScore. REQUIRES: the corpus outlives the source.
LengthSource lengths_of(Corpus& corpus, std::optional<float> min_score,
                        const std::function<int64_t(int64_t epoch)>& variant_of);

}  // namespace weft
