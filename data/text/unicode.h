// data/text/unicode.h: provides the Unicode that scores need: UTF-8 code points, white space, categories, lower case.
//
// White space and lower case follow Python's str.split and str.lower, and categories follow its package regex, as in
// sacreBLEU. tests/reference/unicode_tables.py makes the tables. A byte that is not UTF-8 counts as a character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct CodePoint {
  char32_t value = 0;  // U+FFFD where the bytes are not UTF-8
  int num_bytes = 1;   // 1 to 4; 1 where the bytes are not UTF-8
  bool valid = true;
};
CodePoint code_point_at(std::string_view text, size_t position);
void append_utf8(std::string& text, char32_t code_point);
int64_t num_characters(std::string_view text);    // code points of valid UTF-8
size_t find_invalid_utf8(std::string_view text);  // position of the first bad byte, or npos

bool is_white_space(char32_t code_point);
bool is_control_or_line_break(char32_t code_point);                  // category Cc, U+2028 and U+2029
bool is_number(char32_t code_point);                                 // category N
bool is_punctuation(char32_t code_point);                            // category P
bool is_symbol(char32_t code_point);                                 // category S
std::string_view trim(std::string_view text);                        // removes white space at both ends
std::string_view trim_right(std::string_view text);                  // removes white space at the right end
std::vector<std::string_view> split_words(std::string_view text);    // splits at white space; views into `text`
std::string join_words(const std::vector<std::string_view>& words);  // puts one space between words

std::string lower_case(std::string_view text);  // full mapping: one character may become two

}  // namespace weft
