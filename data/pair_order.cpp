// data/pair_order.cpp: the two levels of the shuffle, and loading a window.
#include "data/pair_order.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr uint32_t kPageOrder = purpose_of("data.page_order"), kSentenceOrder = purpose_of("data.sentence_order");

PairRows rows_of(int64_t pair, const PairLength& length) {
  return {pair, length.source + int64_t{1}, length.target + int64_t{1}};
}

}  // namespace

// A page or window larger than the corpus becomes the corpus, so that their product cannot overflow.
PairOrder::PairOrder(int64_t num_pairs, LengthSource lengths, int64_t page, int64_t window, uint64_t seed, bool shuffle)
    : num_pairs_(num_pairs),
      page_(std::min(page, num_pairs)),
      num_pages_((num_pairs + page_ - 1) / page_),
      window_(std::min(window, num_pages_)),
      lengths_(std::move(lengths)),
      seed_(seed),
      shuffle_(shuffle),
      sentences_(Permutation::identity(0)) {}

PairRows PairOrder::at(int64_t epoch, int64_t position) {
  if (epoch != epoch_ || position < first_ || position >= first_ + sentences_.size()) load_window(epoch, position);
  return loaded_[static_cast<size_t>(sentences_(position - first_))];
}

PairRows PairOrder::lookup(int64_t pair) {
  lengths_(pair, 1, buffer_);
  return rows_of(pair, buffer_.front());
}

Permutation PairOrder::permutation(int64_t size, int64_t epoch, int64_t index, uint32_t purpose) const {
  if (!shuffle_) return Permutation::identity(size);
  const PhiloxBits bits = philox(seed_, static_cast<uint64_t>(epoch), static_cast<uint32_t>(index), purpose);
  return Permutation(size, (static_cast<uint64_t>(bits.v[1]) << 32) | bits.v[0]);
}

void PairOrder::load_window(int64_t epoch, int64_t position) {
  const Permutation pages = permutation(num_pages_, epoch, 0, kPageOrder);
  // The corpus's last page may be short: windows after the one that contains it begin earlier by the missing
  // pairs.
  const int64_t lacking = num_pages_ * page_ - num_pairs_, rank_of_last = pages.inverse(num_pages_ - 1);
  const auto first_of = [&](int64_t index) {
    return index * window_ * page_ - (rank_of_last < index * window_ ? lacking : 0);
  };
  int64_t index = position / (window_ * page_);
  if (position >= first_of(index + 1)) ++index;

  epoch_ = -1;  // empty, in case reading fails
  loaded_.clear();
  for (int64_t rank = index * window_; rank < std::min((index + 1) * window_, num_pages_); ++rank) {
    const int64_t begin = pages(rank) * page_, count = std::min(page_, num_pairs_ - begin);
    lengths_(begin, count, buffer_);
    for (int64_t i = 0; i < count; ++i) loaded_.push_back(rows_of(begin + i, buffer_[static_cast<size_t>(i)]));
  }
  sentences_ = permutation(static_cast<int64_t>(loaded_.size()), epoch, index, kSentenceOrder);
  first_ = first_of(index);
  epoch_ = epoch;
}

}  // namespace weft
