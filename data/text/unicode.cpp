// data/text/unicode.cpp: handles UTF-8, white space, categories and lower case (with context for sigma only).
#include "data/text/unicode.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "data/text/range_table.h"
#include "data/text/unicode_categories.h"
#include "data/text/unicode_tables.h"

namespace weft {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr char32_t kCapitalIWithDot = 0x130, kDotAbove = 0x307;

bool is_case_ignorable(char32_t c) { return contains(unicode_tables::kCaseIgnorable, c); }
bool is_cased(char32_t c) { return contains(unicode_tables::kCased, c); }

char32_t lower(char32_t c) {
  const unicode_tables::LowerRange* range = range_of(unicode_tables::kLower, c);
  if (range == std::end(unicode_tables::kLower) || (c - range->first) % range->step != 0) return c;
  return c + range->delta;
}

// A sigma ends a word if a cased letter precedes it and no cased letter follows it, apart from ignorable characters.
bool is_final_sigma(const std::vector<CodePoint>& text, size_t position) {
  auto before = std::find_if_not(text.rend() - position, text.rend(),
                                 [](const CodePoint& c) { return is_case_ignorable(c.value); });
  if (before == text.rend() || !is_cased(before->value)) return false;
  auto after = std::find_if_not(text.begin() + position + 1, text.end(),
                                [](const CodePoint& c) { return is_case_ignorable(c.value); });
  return after == text.end() || !is_cased(after->value);
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t position) {
  const CodePoint invalid{kReplacement, 1, false};
  const auto lead = static_cast<unsigned char>(text[position]);
  if (lead < 0x80) return {lead, 1, true};
  const int num_bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || position + num_bytes > text.size()) return invalid;
  char32_t value = lead & (0xFF >> (num_bytes + 1));
  for (int i = 1; i < num_bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[position + i]);
    if ((byte & 0xC0) != 0x80) return invalid;
    value = value << 6 | (byte & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[num_bytes] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return invalid;
  return {value, num_bytes, true};
}

void append_utf8(std::string& text, char32_t c) {
  auto byte = [&](char32_t value) { text.push_back(static_cast<char>(value)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
  }
}

int64_t num_characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });  // bytes that start a code point
}

size_t find_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    uint64_t eight;
    if (text.size() - i >= sizeof eight) {  // fast path: most text is ASCII
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const CodePoint c = code_point_at(text, i);
    if (!c.valid) return i;
    i += static_cast<size_t>(c.num_bytes);
  }
  return std::string_view::npos;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_control_or_line_break(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029; }

bool is_number(char32_t c) { return contains(unicode_tables::kNumber, c); }
bool is_punctuation(char32_t c) { return contains(unicode_tables::kPunctuation, c); }
bool is_symbol(char32_t c) { return contains(unicode_tables::kSymbol, c); }

std::string_view trim(std::string_view text) {
  const auto is_sign = [](char c) { return c > ' ' && c < 0x7F; };  // visible ASCII
  if (!text.empty() && is_sign(text.front()) && is_sign(text.back())) return text;
  while (!text.empty() && is_white_space(code_point_at(text, 0).value)) {
    text.remove_prefix(code_point_at(text, 0).num_bytes);
  }
  return trim_right(text);
}

std::string_view trim_right(std::string_view text) {
  while (!text.empty()) {
    size_t last = text.size() - 1;  // start of the last character
    while (last > 0 && (text[last] & 0xC0) == 0x80) --last;
    if (!is_white_space(code_point_at(text, last).value)) break;
    text = text.substr(0, last);
  }
  return text;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (is_white_space(c.value)) {
      if (i > begin) words.push_back(text.substr(begin, i - begin));
      begin = i + c.num_bytes;
    }
    i += c.num_bytes;
  }
  if (text.size() > begin) words.push_back(text.substr(begin));
  return words;
}

std::string join_words(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text.push_back(' ');
    text.append(word);
  }
  return text;
}

std::string lower_case(std::string_view text) {
  std::vector<CodePoint> characters;
  for (size_t i = 0; i < text.size(); i += characters.back().num_bytes) characters.push_back(code_point_at(text, i));
  std::string out;
  size_t at = 0;  // in bytes
  for (size_t i = 0; i < characters.size(); at += characters[i++].num_bytes) {
    const auto [c, num_bytes, valid] = characters[i];
    if (!valid) {
      out.append(text.substr(at, num_bytes));
    } else if (c == kCapitalSigma) {
      append_utf8(out, is_final_sigma(characters, i) ? kFinalSigma : kSigma);
    } else if (c == kCapitalIWithDot) {
      append_utf8(out, U'i');
      append_utf8(out, kDotAbove);
    } else {
      append_utf8(out, lower(c));
    }
  }
  return out;
}

}  // namespace weft
