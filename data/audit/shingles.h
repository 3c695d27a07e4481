// data/audit/shingles.h: reduces a line to what remains of it in a near-copy: its words, and their short sequences of
// characters.
//
// A shingle is a sequence of five characters of the normal text. If A and B are the sets of shingles of two lines, the
// containment of A in B is |A and B| / |A| (Broder 1997, "On the resemblance and containment of documents"). Characters
// work in all languages, also in those without spaces, and forgive inflected words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Returns the words in lower case, separated by single spaces, without invisible characters, punctuation and symbols.
// Characters are in Unicode's form NFKC, so that the tokenizer's normalization does not matter. REQUIRES: valid UTF-8.
std::string normal_text(std::string_view line);

std::vector<uint64_t> shingles(std::string_view normal);  // distinct hashes, sorted; none for fewer than 5 characters

// Returns how many elements the two sorted lists share.
int64_t num_common(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b);

}  // namespace weft
