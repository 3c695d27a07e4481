// model/decoding/search_work.cpp: hands out the longest sentences first.
#include "model/decoding/search_work.h"

#include <utility>

namespace weft {

std::vector<size_t> SearchWork::take(int64_t rows) {
  const std::scoped_lock lock(mutex_);
  const size_t left = order_.size() - num_taken_, divisor = searches_ > 1 ? 2 * searches_ : 1;
  const size_t share = (left + divisor - 1) / divisor;
  std::vector<size_t> taken;
  while (taken.size() < share) {
    const size_t request = order_[num_taken_];
    rows -= std::ssize(requests_[request].source) + 1;
    if (rows < 0) break;
    taken.push_back(request);
    ++num_taken_;
  }
  return taken;
}

void SearchWork::finish(size_t request, std::vector<Hypothesis> found) {
  const std::scoped_lock lock(mutex_);
  results_[request] = std::move(found);
  ++num_done_;
  if (on_done_) on_done_(num_done_);
}

void SearchWork::drop_rest() {
  const std::scoped_lock lock(mutex_);
  num_taken_ = order_.size();
}

}  // namespace weft
