// data/audit/shingles.cpp: normalizes lines and hashes their sequences of characters.
#include "data/audit/shingles.h"

#include <algorithm>
#include <array>

#include "data/subword/normalization.h"
#include "data/text/invisible.h"
#include "data/text/unicode.h"

namespace weft {
namespace {

constexpr size_t kLength = 5;  // characters of a shingle

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Returns the form NFKC of the text without invisible characters. Most text of Western Europe has this form already,
// and needs no look-ups: ASCII, the letters of Latin-1, and typographic quotes and dashes.
std::string compatible_text(std::string_view text) {
  static const Normalizer nfkc(Normalization::nfkc);
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const bool is_stable = c.value < 0x80 || (c.value >= 0xC0 && c.value <= 0xFF) ||
                           (c.value >= 0x2012 && c.value <= 0x2015) || (c.value >= 0x2018 && c.value <= 0x201F);
    if (!is_stable) return nfkc(without_invisible(text));
    i += static_cast<size_t>(c.num_bytes);
  }
  return std::string(text);
}

// True for a character that separates words, or that a copy may lack.
bool is_separator(char32_t c) {
  if (c < 0x80) return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'));
  return is_white_space(c) || is_punctuation(c) || is_symbol(c) || is_control_or_line_break(c);
}

// Bijective mixing of 64 bits (Steele et al. 2014, SplitMix64).
uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

std::string normal_text(std::string_view line) {
  const bool ascii = is_ascii(line);
  const std::string lowered = ascii ? "" : lower_case(compatible_text(line));
  const std::string_view text = ascii ? line : std::string_view(lowered);
  std::string normal;
  normal.reserve(text.size());
  bool separated = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = static_cast<unsigned char>(text[i]) < 0x80 ? CodePoint{.value = static_cast<char32_t>(text[i])}
                                                                   : code_point_at(text, i);
    const auto size = static_cast<size_t>(c.num_bytes);
    if (is_separator(c.value)) {
      separated = true;
    } else {
      if (separated && !normal.empty()) normal += ' ';
      separated = false;
      if (c.value >= 'A' && c.value <= 'Z')
        normal += static_cast<char>(c.value - 'A' + 'a');
      else
        normal.append(text, i, size);
    }
    i += size;
  }
  return normal;
}

std::vector<uint64_t> shingles(std::string_view normal) {
  std::vector<uint64_t> hashes;
  std::array<uint64_t, kLength> last{};  // a ring of characters
  size_t count = 0;
  for (size_t i = 0; i < normal.size(); ++count) {
    const CodePoint c = code_point_at(normal, i);
    i += static_cast<size_t>(c.num_bytes);
    last[count % kLength] = c.value;
    if (count + 1 < kLength) continue;
    uint64_t hash = 0;
    for (size_t k = 1; k <= kLength; ++k) hash = hash * 0x9E3779B97F4A7C15u + last[(count + k) % kLength];
    hashes.push_back(mixed(hash));
  }
  std::ranges::sort(hashes);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());  // clang 14 refuses ranges::unique
  return hashes;
}

int64_t num_common(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  int64_t common = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    common += *i == *j;
    const bool move_i = *i <= *j, move_j = *j <= *i;
    i += move_i, j += move_j;
  }
  return common;
}

}  // namespace weft
