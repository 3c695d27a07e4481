// data/order/min_score.h: training on the pairs of a corpus that have at least a given score. The others are passed
// over where the stream of pairs is planned: the corpus, its order and its epochs stay as they are.
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

// Reads the text of an option into the corpora of a mix: a number, the least score in each corpus, or numbers for some
// of them, "packed/crawl:0.8,packed/web:1.05". Empty: none. An Error of kind usage names `option` and what is wrong.
void set_min_scores(const std::string& option, const std::string& text, std::vector<MixCorpus>& mix);
std::string min_scores_text(const std::vector<MixCorpus>& mix);  // the second form; empty: none

// How many pairs have at least this score: reads all scores, in pieces.
int64_t count_usable(Corpus& corpus, float min_score);

// Reads lengths of the corpus, which must outlive it, in the variant of the epoch (data/order/variant_turns.h);
// kBelowScore for pairs with a lower score.
LengthSource lengths_of(Corpus& corpus, std::optional<float> min_score,
                        const std::function<int64_t(int64_t epoch)>& variant_of);

}  // namespace weft
