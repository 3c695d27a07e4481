// trainer/config/nearest.cpp: computes the edit distance row by row.
#include "trainer/config/nearest.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

constexpr size_t kLongestName = 100;  // bytes; computing distances between longer texts would take seconds

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);  // distances from a's first i characters to each prefix of b
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const int substitution = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitution, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kLongestName) return "";
  const auto last_part = [](std::string_view key) { return key.substr(key.rfind('.') + 1); };  // npos + 1 is 0
  std::string best;
  int best_distance = static_cast<int>(std::max<size_t>(last_part(name).size() / 2, 2)) + 1;
  for (const std::string& candidate : candidates) {
    const int whole = edit_distance(name, candidate);
    const int key_alone = edit_distance(last_part(name), last_part(candidate)) + 1;  // the section is wrong or missing
    if (const int distance = std::min(whole, key_alone); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace weft
