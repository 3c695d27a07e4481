// data/audit/text_faults.cpp: implements the checks of single lines.
#include "data/audit/text_faults.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "data/text/unicode.h"

namespace weft {
namespace {

// Returns the byte that Windows-1252 or Latin-1 shows as this character if it may continue a character in UTF-8
// (0x80 to 0xBF), or 0.
unsigned continuation_shown_as(char32_t c) {
  constexpr char32_t kWindows[] = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                   0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                   0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
  if (c >= 0x80 && c <= 0xBF) return static_cast<unsigned>(c);
  for (unsigned i = 0; i < std::size(kWindows); ++i)
    if (kWindows[i] == c) return 0x80 + i;
  return 0;
}

// If the characters from `position` on look like the bytes of one character above U+009F in UTF-8, returns the number
// of these bytes, otherwise 0. The shown characters are one per byte.
size_t misread_bytes(const std::u32string& line, size_t position) {
  const char32_t lead = line[position];
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead <= 0xDF ? 2 : lead <= 0xEF ? 3 : 4;
  if (position + length > line.size()) return 0;
  char32_t decoded = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const unsigned byte = continuation_shown_as(line[position + i]);
    if (byte == 0) return 0;
    decoded = decoded << 6 | (byte & 0x3F);
  }
  return decoded >= 0xA0 ? length : 0;
}

bool is_misread(const std::u32string& line) {
  int count = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (i > 0 && line[i - 1] >= 'A' && line[i - 1] <= 'Z') continue;  // a word in capitals, as AMANHÃ before a quote
    const size_t length = misread_bytes(line, i);
    if (length == 0) continue;
    const bool is_frequent = line[i] == 0xC2 || line[i] == 0xC3 || line[i] == 0xE2;  // in Western European text
    count += is_frequent ? 2 : 1;
    i += length - 1;
  }
  return count >= 2;
}

// Calls f(hash) for each three consecutive characters of a normal text, with a space at both ends.
template <typename F>
int64_t for_each_trigram(std::string_view normal, const F& f) {
  uint64_t last = ' ';
  int64_t count = -1;
  const auto take = [&](char32_t c) {
    last = (last << 21 | c) & ((uint64_t{1} << 63) - 1);
    if (++count > 0) f((last * 0x9E3779B97F4A7C15u) >> 48);
  };
  for (size_t i = 0; i < normal.size();) {
    const CodePoint c = code_point_at(normal, i);
    i += static_cast<size_t>(c.num_bytes);
    if (!is_number(c.value)) take(c.value);
  }
  take(' ');
  return std::max<int64_t>(count, 0);
}

constexpr int64_t kFewest = 20;     // sequences of a line that can be judged
constexpr double kOtherSide = 0.7;  // nats per sequence by which the other side is more likely
constexpr double kSmallest = 0.01;  // least variance of the sample that is believed
constexpr double kDeviations = 6;   // standard deviations below the mean of the sample

}  // namespace

const char* encoding_fault(std::string_view line) {
  if (std::ranges::all_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return nullptr;
  std::u32string characters;
  for (size_t i = 0; i < line.size();) {
    const CodePoint c = code_point_at(line, i);
    characters += c.value, i += static_cast<size_t>(c.num_bytes);
  }
  if (characters.find(U'\uFFFD') != std::u32string::npos) return "a replacement character (U+FFFD)";
  if (is_misread(characters)) return "UTF-8 that was read as Windows-1252";
  const auto is_control = [](char32_t c) { return c >= 0x80 && c <= 0x9F; };
  return std::ranges::any_of(characters, is_control) ? "a control character" : nullptr;
}

LanguageCheck::LanguageCheck(const std::array<std::vector<std::string>, 2>& sides)
    : has_sample_(sides[0].size() >= kFewestLines) {
  for (size_t side = 0; side < 2; ++side) {
    std::vector<double> counts(kBuckets, 0.5);
    double all = 0.5 * kBuckets;
    for (const std::string& line : sides[side])
      all += static_cast<double>(for_each_trigram(line, [&](uint64_t hash) { ++counts[hash]; }));
    for (const double count : counts) log_probability_[side].push_back(static_cast<float>(std::log(count / all)));
  }
  for (size_t side = 0; side < 2; ++side) {
    double sum = 0, squares = 0, lines = 0;
    for (const std::string& line : sides[side]) {
      if (for_each_trigram(line, [](uint64_t) {}) < kFewest) continue;
      const double value = mean_log_probability(line, side);
      sum += value, squares += value * value, ++lines;
    }
    mean_[side] = lines > 0 ? sum / lines : 0;
    deviation_[side] = lines > 0 ? std::sqrt(std::max(kSmallest, squares / lines - mean_[side] * mean_[side])) : 1e9;
  }
}

double LanguageCheck::mean_log_probability(std::string_view normal, size_t side) const {
  double sum = 0;
  const int64_t count = for_each_trigram(normal, [&](uint64_t hash) { sum += log_probability_[side][hash]; });
  return sum / static_cast<double>(std::max<int64_t>(count, 1));
}

LanguageCheck::Verdict LanguageCheck::check(std::string_view normal, Side side) const {
  if (!has_sample_ || for_each_trigram(normal, [](uint64_t) {}) < kFewest) return Verdict::usual;
  const auto own = static_cast<size_t>(side);
  const double here = mean_log_probability(normal, own), there = mean_log_probability(normal, 1 - own);
  if (there > here + kOtherSide) return Verdict::of_other_side;
  return here < mean_[own] - kDeviations * deviation_[own] ? Verdict::unusual : Verdict::usual;
}

}  // namespace weft
