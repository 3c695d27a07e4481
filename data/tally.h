// data/tally.h: counts things by kind, and keeps the first few of each kind as examples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

template <typename Kind, size_t kNumKinds, typename Example>
class Tally {
 public:
  explicit Tally(int64_t num_examples = 0) : num_examples_(num_examples) {}

  void add(Kind kind, const Example& example) {
    Entry& entry = entries_[static_cast<size_t>(kind)];
    ++entry.count;
    if (std::ssize(entry.first) < num_examples_) entry.first.push_back(example);
  }
  void add(Tally&& later) {  // adds the counts of what follows
    for (size_t i = 0; i < kNumKinds; ++i) {
      entries_[i].count += later.entries_[i].count;
      for (Example& example : later.entries_[i].first)
        if (std::ssize(entries_[i].first) < num_examples_) entries_[i].first.push_back(std::move(example));
    }
  }
  int64_t count(Kind kind) const { return entries_[static_cast<size_t>(kind)].count; }
  const std::vector<Example>& first(Kind kind) const { return entries_[static_cast<size_t>(kind)].first; }

 private:
  struct Entry {
    int64_t count = 0;
    std::vector<Example> first;
  };
  int64_t num_examples_;
  std::array<Entry, kNumKinds> entries_;
};

}  // namespace weft
