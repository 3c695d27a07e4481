// trainer/tokenize_13a.cpp: the rules of 13a in their order; each is one scan from left to right without overlap.
//
// The scans look at bytes, not characters: every rule is about ASCII, and a byte of a longer character is neither a
// digit nor a mark.
#include "trainer/tokenize_13a.h"

#include "trainer/unicode.h"

namespace weft {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point_or_comma(char c) { return c == '.' || c == ','; }
bool always_stands_alone(char c) {  // ASCII signs but for ' , - .
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Where two neighbours match, writes before, first, between, second, after; a character belongs to one match only.
template <typename Matches>
std::string space_out(const std::string& text, Matches matches, const char* before, const char* after) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      out.append(before).append(1, text[i]).append(" ").append(1, text[i + 1]).append(after);
      ++i;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");  // before the next two: &amp;lt; ends as <
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");

  std::string spaced = " ";
  for (const char c : text) {
    if (always_stands_alone(c)) {
      spaced.append(" ").append(1, c).append(" ");
    } else {
      spaced.push_back(c);
    }
  }
  spaced.push_back(' ');

  spaced = space_out(
      spaced, [](char a, char b) { return !is_digit(a) && is_point_or_comma(b); }, "", " ");
  spaced = space_out(
      spaced, [](char a, char b) { return is_point_or_comma(a) && !is_digit(b); }, " ", "");
  spaced = space_out(
      spaced, [](char a, char b) { return is_digit(a) && b == '-'; }, "", " ");
  return join_words(split_words(spaced));
}

}  // namespace weft
