// data/audit/shifted_lines.h: finds runs of pairs whose sides have slipped against each other, by words that both sides
// share.
//
// A translation keeps numbers, names and addresses. In a window of consecutive pairs, such rare words are compared at
// several distances: if a source's words occur in targets one line further on, but not in its own target, lines are
// missing or doubled.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <vector>

namespace weft {

// Returns the sorted hashes of the words of a normal text that a translation may keep.
std::vector<uint64_t> kept_words(std::string_view normal);

class ShiftedLines {
 public:
  static constexpr int64_t kWindow = 20;  // pairs compared at once
  static constexpr int64_t kMost = 3;     // largest distance

  // found(pair, distance): in a window of pairs, the sources belong to the targets that many pairs further on. Reports
  // the pairs from the first to the last one that shows it by a shared word.
  explicit ShiftedLines(std::function<void(int64_t pair, int64_t distance)> found) : found_(std::move(found)) {}

  // REQUIRES: pairs come in the order of the text.
  void add(std::vector<uint64_t> source, std::vector<uint64_t> target);
  void finish();

 private:
  struct Pair {
    std::vector<uint64_t> source, target;
  };
  void check_window();
  // Returns for each pair of the window how many words its source shares with the target at this distance.
  std::vector<int64_t> num_shared(int64_t distance, const std::vector<uint64_t>& frequent) const;

  std::function<void(int64_t, int64_t)> found_;
  std::deque<Pair> pairs_;                // the window and kMost pairs on each side
  int64_t num_pairs_ = 0, reported_ = 0;  // pairs before reported_ need no report
};

}  // namespace weft
