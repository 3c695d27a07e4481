// data/order/pair_order.cpp: computes the two levels of the shuffle, and loads windows.
#include "data/order/pair_order.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr uint32_t kPageOrder = purpose_of("data.page_order"), kSentenceOrder = purpose_of("data.sentence_order");

PairRows rows_of(int64_t pair, const PairLength& length) {
  return {pair, length.source + int64_t{1}, length.target + int64_t{1}};
}

}  // namespace

// Pages and windows that are larger than the corpus are clamped to it, so that their product cannot overflow.
PairOrder::PairOrder(int64_t num_pairs, LengthSource lengths, const PairShuffle& shuffle, Stream stream)
    : num_pairs_(num_pairs),
      page_(std::min(shuffle.page, num_pairs)),
      num_pages_((num_pairs + page_ - 1) / page_),
      window_((std::min(shuffle.window, num_pages_) + stream.count - 1) / stream.count),
      lengths_(std::move(lengths)),
      shuffle_(shuffle),
      stream_(stream),
      sentences_(Permutation::identity(0)) {}

int64_t PairOrder::size(int64_t epoch) {
  const Part& part = part_of(epoch);
  return position_of_page(part, part.num_pages);
}

PairRows PairOrder::at(int64_t epoch, int64_t position) {
  if (epoch != epoch_ || position < first_ || position >= first_ + sentences_.size()) load_window(epoch, position);
  return loaded_[static_cast<size_t>(sentences_(position - first_))];
}

PairRows PairOrder::lookup(int64_t pair, int64_t epoch) {
  lengths_(epoch, pair, 1, buffer_);
  return rows_of(pair, buffer_.front());
}

Permutation PairOrder::permutation(int64_t size, int64_t epoch, int64_t index, uint32_t purpose) const {
  if (!shuffle_.enabled) return Permutation::identity(size);
  const PhiloxBits bits = philox(shuffle_.seed, static_cast<uint64_t>(epoch), static_cast<uint32_t>(index), purpose);
  return Permutation(size, (static_cast<uint64_t>(bits.v[1]) << 32) | bits.v[0]);
}

const PairOrder::Part& PairOrder::part_of(int64_t epoch) {
  if (part_.epoch == epoch) return part_;
  const int64_t n = stream_.count;
  const int64_t pages_before = (epoch % n) * (num_pages_ % n) % n;  // in earlier epochs, modulo n
  part_.first_rank = (stream_.index + n - pages_before) % n;
  part_.num_pages = (num_pages_ - part_.first_rank + n - 1) / n;  // 0 if there are fewer pages than streams
  part_.pages = permutation(num_pages_, epoch, 0, kPageOrder);
  const int64_t ranks = part_.pages.inverse(num_pages_ - 1) - part_.first_rank;
  part_.short_page = ranks >= 0 && ranks % n == 0 ? ranks / n : part_.num_pages;
  part_.epoch = epoch;
  return part_;
}

// Returns the position of the first pair of page `index`, or the end. The corpus's last page may be short; pages that
// follow it in the order start earlier by the number of pairs that it lacks.
int64_t PairOrder::position_of_page(const Part& part, int64_t index) const {
  return index * page_ - (part.short_page < index ? num_pages_ * page_ - num_pairs_ : 0);
}

void PairOrder::load_window(int64_t epoch, int64_t position) {
  const Part& part = part_of(epoch);
  int64_t index = position / (window_ * page_);
  if (position >= position_of_page(part, (index + 1) * window_)) ++index;

  epoch_ = -1;  // no window is loaded if reading fails
  loaded_.clear();
  for (int64_t i = index * window_; i < std::min((index + 1) * window_, part.num_pages); ++i) {
    const int64_t begin = part.pages(part.first_rank + i * stream_.count) * page_;
    const int64_t count = std::min(page_, num_pairs_ - begin);
    lengths_(epoch, begin, count, buffer_);
    for (int64_t k = 0; k < count; ++k) loaded_.push_back(rows_of(begin + k, buffer_[static_cast<size_t>(k)]));
  }
  sentences_ =
      permutation(static_cast<int64_t>(loaded_.size()), epoch, index * stream_.count + stream_.index, kSentenceOrder);
  first_ = position_of_page(part, index * window_);
  epoch_ = epoch;
}

}  // namespace weft
