// trainer/metrics/tokenizers.h: implements the tokenizers that sacreBLEU 2 defines for BLEU and TER.
//
// Each function returns the tokens of a line, separated by one space. Bytes that are not valid UTF-8 are kept.
#pragma once

#include <string>
#include <string_view>

#include "trainer/metrics/ter.h"

namespace weft {

// mteval's tokenizer separates ASCII punctuation from words, keeps . and , in numbers, and decodes four HTML entities.
std::string tokenize_13a(std::string_view line);

// mteval's international tokenizer separates punctuation and symbols of all scripts, but does not decode entities.
std::string tokenize_intl(std::string_view line);

// Every Chinese character and every character from U+2001 to U+2A6D is a token. Other text is split almost as in 13a.
std::string tokenize_zh(std::string_view line);

std::string tokenize_chars(std::string_view line);  // every character is a token

// Tercom's tokenizer lowercases and splits at spaces. Options add 13a's rules, split ideographs or drop punctuation.
std::string tokenize_tercom(std::string_view line, const TerOptions& options);

}  // namespace weft
