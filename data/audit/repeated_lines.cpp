// data/audit/repeated_lines.cpp: indexes the lines, and looks up texts.
#include "data/audit/repeated_lines.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "data/audit/shingles.h"
#include "data/text/invisible.h"
#include "data/text/unicode.h"

namespace weft {
namespace {

constexpr uint64_t kFilterBits = uint64_t{1} << 22;

}  // namespace

RepeatedLines::RepeatedLines(const std::vector<std::string>& lines) : may_be_indexed_(kFilterBits) {
  std::unordered_map<uint64_t, int32_t> num_lines_with;
  for (const std::string& line : lines) {
    std::string normal = normal_text(line);
    if (num_characters(normal) < kShortest) normal.clear();
    trimmed_.emplace_back(trim(without_invisible(line)));
    shingles_.push_back(shingles(normal));
    if (std::ssize(shingles_.back()) < kFewestNear) shingles_.back().clear();
    for (const uint64_t hash : shingles_.back()) ++num_lines_with[hash];
    if (!normal.empty()) by_normal_[normal].push_back(static_cast<int32_t>(normal_.size()));
    normal_.push_back(std::move(normal));
  }
  for (size_t i = 0; i < lines.size(); ++i) index_rarest(static_cast<int32_t>(i), num_lines_with);
}

int64_t RepeatedLines::needed(int32_t line) const {
  const auto count = static_cast<double>(shingles_[static_cast<size_t>(line)].size());
  return static_cast<int64_t>(std::ceil(kNear * count));
}

void RepeatedLines::index_rarest(int32_t line, const std::unordered_map<uint64_t, int32_t>& num_lines_with) {
  std::vector<uint64_t> rarest = shingles_[static_cast<size_t>(line)];
  const auto count = std::ssize(rarest), kept = std::min(count, count - needed(line) + kEvidence);
  std::ranges::partial_sort(rarest, rarest.begin() + kept, {},
                            [&](uint64_t hash) { return std::pair(num_lines_with.at(hash), hash); });
  rarest.resize(static_cast<size_t>(kept));
  for (const uint64_t hash : rarest) {
    by_shingle_[hash].push_back(line);
    may_be_indexed_[hash % kFilterBits] = true;
  }
}

std::vector<RepeatedLines::Hit> RepeatedLines::find(std::string_view text, const std::string& normal) const {
  std::vector<Hit> hits;
  if (const auto same = by_normal_.find(normal); same != by_normal_.end())
    for (const int32_t line : same->second)
      hits.push_back({line, trim(text) == trimmed_[static_cast<size_t>(line)] ? Repeat::exact : Repeat::normalized});
  add_near(shingles(normal), hits);
  std::ranges::sort(hits, {}, &Hit::line);
  return hits;
}

void RepeatedLines::add_near(const std::vector<uint64_t>& of_text, std::vector<Hit>& hits) const {
  std::vector<int32_t> seen;  // a line for each indexed shingle that it shares
  for (const uint64_t hash : of_text) {
    if (!may_be_indexed_[hash % kFilterBits]) continue;
    if (const auto found = by_shingle_.find(hash); found != by_shingle_.end())
      seen.insert(seen.end(), found->second.begin(), found->second.end());
  }
  std::ranges::sort(seen);
  const size_t num_equal = hits.size();
  for (size_t begin = 0, end = 0; begin < seen.size(); begin = end) {
    const int32_t line = seen[begin];
    while (end < seen.size() && seen[end] == line) ++end;
    const int64_t wanted = needed(line);
    if (static_cast<int64_t>(end - begin) < std::min(kEvidence, wanted) || std::ssize(of_text) < wanted) continue;
    if (std::ranges::binary_search(std::span(hits).first(num_equal), line, {}, &Hit::line)) continue;
    if (num_common(shingles_[static_cast<size_t>(line)], of_text) >= wanted) hits.push_back({line, Repeat::near});
  }
}

}  // namespace weft
