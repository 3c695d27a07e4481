// trainer/tokenize_13a.h: the tokenizer "13a" of mteval and sacreBLEU, for scoring only.
//
// It separates ASCII punctuation from words, keeps points and commas inside numbers, and undoes four HTML entities.
// Punctuation outside ASCII is never split off.
#pragma once

#include <string>
#include <string_view>

namespace weft {

std::string tokenize_13a(std::string_view line);  // tokens, one space between them

}  // namespace weft
