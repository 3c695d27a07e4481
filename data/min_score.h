// data/min_score.h: training on the pairs of a corpus that have at least a given score. The others are passed over
// where the stream of pairs is planned: the corpus, its order and its epochs stay as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/mix.h"
#include "data/pair_order.h"

namespace weft {

// Reads the text of an option into the folders of a mix: a number, the least score in each corpus, or numbers for some
// of them, "packed/crawl:0.8,packed/web:1.05". Empty: none. An Error of kind usage names `option` and what is wrong.
void set_min_scores(const std::string& option, const std::string& text, std::vector<WeightedFolder>& mix);
std::string min_scores_text(const std::vector<WeightedFolder>& mix);  // the second form; empty: none

// How many pairs have at least this score. All scores are read, in pieces, when a process first asks; then it knows the
// number, as it does when it is told what another rank has counted: also if pairs are appended meanwhile, because a run
// goes on with those that it began with. Any thread may ask.
int64_t num_passing(const std::string& folder, float min_score);
void tell_num_passing(const std::string& folder, float min_score, int64_t num_pairs);

// Reads lengths of the corpus, which must outlive it, in the variant of the visit (data/variant_turns.h); kBelowScore
// for pairs with a lower score.
LengthSource lengths_of(Corpus& corpus, std::optional<float> min_score,
                        const std::function<int64_t(int64_t visit)>& variant_of);

}  // namespace weft
