// data/audit/shifted_lines.cpp: compares the words of sources and targets in a window at several distances.
#include "data/audit/shifted_lines.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "data/audit/shingles.h"
#include "data/text/split.h"

namespace weft {
namespace {

constexpr int64_t kEnough = 5;       // shared words that show a shift
constexpr int64_t kTimesAsMany = 3;  // as at distance 0
constexpr int64_t kStep = ShiftedLines::kWindow / 2;

}  // namespace

std::vector<uint64_t> kept_words(std::string_view normal) {
  std::vector<uint64_t> words;
  for (const std::string_view word : split(normal, ' ')) {
    const bool has_digit = std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
    if (word.size() >= (has_digit ? 2 : 5)) words.push_back(std::hash<std::string_view>()(word));
  }
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());  // clang 14 refuses ranges::unique
  return words;
}

void ShiftedLines::add(std::vector<uint64_t> source, std::vector<uint64_t> target) {
  pairs_.push_back({std::move(source), std::move(target)});
  ++num_pairs_;
  if (std::ssize(pairs_) < kWindow + 2 * kMost) return;
  check_window();
  pairs_.erase(pairs_.begin(), pairs_.begin() + kStep);
}

void ShiftedLines::finish() {
  if (std::ssize(pairs_) > 2 * kMost + kStep) check_window();
}

// Words of many pairs do not count.
std::vector<int64_t> ShiftedLines::num_shared(int64_t distance, const std::vector<uint64_t>& frequent) const {
  std::vector<int64_t> shared;
  for (int64_t i = kMost; i + kMost < std::ssize(pairs_); ++i) {
    const std::vector<uint64_t>& source = pairs_[static_cast<size_t>(i)].source;
    const std::vector<uint64_t>& target = pairs_[static_cast<size_t>(i + distance)].target;
    std::vector<uint64_t> both;
    std::ranges::set_intersection(source, target, std::back_inserter(both));
    shared.push_back(
        std::ranges::count_if(both, [&](uint64_t word) { return !std::ranges::binary_search(frequent, word); }));
  }
  return shared;
}

void ShiftedLines::check_window() {
  std::unordered_map<uint64_t, int64_t> counts;
  for (const Pair& pair : pairs_)
    for (const uint64_t word : pair.source) ++counts[word];
  std::vector<uint64_t> frequent;
  for (const auto& [word, count] : counts)
    if (count > 2) frequent.push_back(word);
  std::ranges::sort(frequent);
  const auto total = [](const std::vector<int64_t>& of_pairs) {
    return std::accumulate(of_pairs.begin(), of_pairs.end(), int64_t{0});
  };
  int64_t best = 0, most = 0;
  const int64_t in_place = total(num_shared(0, frequent));
  for (int64_t distance = -kMost; distance <= kMost; ++distance)
    if (const int64_t shared = total(num_shared(distance, frequent)); shared > most) most = shared, best = distance;
  if (best == 0 || most < kEnough || most < kTimesAsMany * in_place) return;
  const std::vector<int64_t> shared = num_shared(best, frequent);
  const auto shows = [](int64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(shared, shows) - shared.begin();
  const auto after = std::find_if(shared.rbegin(), shared.rend(), shows).base() - shared.begin();
  const int64_t window = num_pairs_ - std::ssize(pairs_) + kMost;
  for (int64_t pair = std::max(window + first, reported_); pair < window + after; ++pair) found_(pair, best);
  reported_ = std::max(reported_, window + after);
}

}  // namespace weft
