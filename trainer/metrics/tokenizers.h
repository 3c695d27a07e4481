// trainer/metrics/tokenizers.h: the tokenizers of BLEU and TER, as sacreBLEU 2 defines them; for scoring only.
//
// Each function returns the tokens of a line, separated by one space. Bytes that are not UTF-8 are unchanged.
#pragma once

#include <string>
#include <string_view>

#include "trainer/metrics/ter.h"

namespace weft {

// mteval's tokenizer separates ASCII punctuation from words, keeps . and , in numbers, and decodes four HTML entities.
std::string tokenize_13a(std::string_view line);

// mteval's international tokenizer does the same for punctuation and symbols of all scripts, without entities.
std::string tokenize_intl(std::string_view line);

// Every Chinese character is a token (as is every sign from U+2001 to U+2A6D); the rest is almost as in 13a.
std::string tokenize_zh(std::string_view line);

std::string tokenize_chars(std::string_view line);  // every character is a token

// Tercom's tokenizer uses lower case and white space; options add 13a's rules, ideographs as words, or no punctuation.
std::string tokenize_tercom(std::string_view line, const TerOptions& options);

}  // namespace weft
