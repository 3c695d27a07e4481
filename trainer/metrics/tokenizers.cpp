// trainer/metrics/tokenizers.cpp: applies the rules of each tokenizer in order.
#include "trainer/metrics/tokenizers.h"

#include <algorithm>

#include "data/text/unicode.h"
#include "trainer/metrics/token_rules.h"

namespace weft {
namespace {

std::string one_space_between(std::string_view text) { return join_words(split_words(text)); }

struct CharRange {
  char32_t first, last;
};

template <size_t N>
bool contains(const CharRange (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](CharRange r) { return c >= r.first && c <= r.last; });
}

// The first range is not Chinese. The tokenizer's authors meant the ideographs U+20000-2A6D6, but their notation was
// parsed as four digits and one more character. The range is kept because published scores depend on it.
bool is_chinese(char32_t c) {
  static constexpr CharRange kRanges[] = {{0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F},
                                          {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x33FF}, {0x3400, 0x4DB5},
                                          {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
                                          {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
  return contains(kRanges, c);
}

bool is_ideograph(char32_t c) {
  static constexpr CharRange kRanges[] = {{0x2E80, 0x2EFF}, {0x31C0, 0x31EF}, {0x3200, 0x4DBF},
                                          {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}};
  return contains(kRanges, c);
}

bool is_asian_mark(char32_t c) {
  static constexpr CharRange kRanges[] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F}, {0xFF61, 0xFF65},
                                          {0x30FB, 0x30FB}, {0xFF0E, 0xFF0E}, {0xFF0C, 0xFF0C}, {0xFF1F, 0xFF1F},
                                          {0xFF1A, 0xFF1B}, {0xFF01, 0xFF02}, {0xFF08, 0xFF09}};
  return contains(kRanges, c);
}

bool is_western_mark(char32_t c) {
  return c < 0x80 && std::string_view(".,?:;!\"()").find(static_cast<char>(c)) != std::string_view::npos;
}

std::string normalize(std::string text, bool asian_support) {
  replace_all(text, "\n-", "");
  replace_all(text, "\n", " ");
  undo_entities(text);
  text = split_ascii_signs(" " + text + " ");
  replace_all(text, "'s ", " 's ");
  text = split_points_and_hyphens(text);
  if (!asian_support) return text;
  return space_around(text, [](char32_t c) { return is_ideograph(c) || is_asian_mark(c); });
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  undo_entities(text);
  return one_space_between(split_points_and_hyphens(split_ascii_signs(" " + text + " ")));
}

std::string tokenize_intl(std::string_view line) {
  auto mark_after_other = [](char32_t a, char32_t b) { return !is_number(a) && is_punctuation(b); };
  auto mark_before_other = [](char32_t a, char32_t b) { return is_punctuation(a) && !is_number(b); };
  std::string text = space_out(line, mark_after_other, "", " ");
  text = space_out(text, mark_before_other, " ", "");
  return one_space_between(space_around(text, is_symbol));
}

std::string tokenize_zh(std::string_view line) {
  const std::string text = space_around(trim(line), is_chinese);
  return one_space_between(split_points_and_hyphens(split_ascii_signs(text)));
}

std::string tokenize_chars(std::string_view line) {
  return one_space_between(space_around(line, [](char32_t) { return true; }));
}

std::string tokenize_tercom(std::string_view line, const TerOptions& options) {
  std::string text = options.case_sensitive ? std::string(line) : lower_case(line);
  if (options.normalized) text = normalize(text, options.asian_support);
  if (options.no_punct) {
    text = without(text, [&](char32_t c) { return is_western_mark(c) || (options.asian_support && is_asian_mark(c)); });
  }
  return one_space_between(text);
}

}  // namespace weft
