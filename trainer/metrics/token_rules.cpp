// trainer/metrics/token_rules.cpp: implements ASCII rules shared by several tokenizers.
#include "trainer/metrics/token_rules.h"

namespace weft {
namespace {

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_point_or_comma(char32_t c) { return c == '.' || c == ','; }
bool always_stands_alone(char32_t c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

}  // namespace

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

void undo_entities(std::string& text) {
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
}

std::string split_ascii_signs(std::string_view text) { return space_around(text, always_stands_alone); }

std::string split_points_and_hyphens(std::string_view text) {
  auto mark_after_other = [](char32_t a, char32_t b) { return !is_digit(a) && is_point_or_comma(b); };
  auto mark_before_other = [](char32_t a, char32_t b) { return is_point_or_comma(a) && !is_digit(b); };
  auto hyphen_after_digit = [](char32_t a, char32_t b) { return is_digit(a) && b == '-'; };
  std::string out = space_out(text, mark_after_other, "", " ");
  out = space_out(out, mark_before_other, " ", "");
  return space_out(out, hyphen_after_digit, "", " ");
}

}  // namespace weft
