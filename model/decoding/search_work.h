// model/decoding/search_work.h: the sentences of one call, which several searches share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "model/decoding/beam.h"

namespace weft {

struct BeamRequest {
  std::vector<int32_t> source;  // tokens without eos, at most BeamSearch::longest_source()
  int64_t max_tokens = 0;       // per hypothesis, at most BeamSearch::longest_target()
  std::vector<int32_t> prefix;  // first tokens of every hypothesis, at most max_tokens; any token except eos
  int64_t min_tokens = 0;       // per hypothesis, prefix included, unless max_tokens is less
  int64_t sample = 0;           // number of the sample of this source; without sampling, it has no effect
};

// Returns the indices of sentences (with a member `source`) from the longest source to the shortest.
template <typename Sentence>
std::vector<size_t> longest_first(const std::vector<Sentence>& sentences) {
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return sentences[i].source.size(); });
  return order;
}

class SearchWork {  // its searches may run in different threads
 public:
  // Calls on_done, one call at a time, with the number of finished requests.
  SearchWork(const std::vector<BeamRequest>& requests, std::function<void(int64_t)> on_done, size_t searches = 1)
      : requests_(requests),
        on_done_(std::move(on_done)),
        searches_(searches),
        order_(longest_first(requests)),
        results_(requests.size()) {}

  const std::vector<BeamRequest>& requests() const { return requests_; }

  // Returns the next requests, whose sources fit into `rows` rows with their eos. If there are several searches, the
  // others get their share of the rest. REQUIRES: each source fits.
  std::vector<size_t> take(int64_t rows);
  void finish(size_t request, std::vector<Hypothesis> found);
  void drop_rest();  // leaves nothing to take, because a search has failed

  std::vector<std::vector<Hypothesis>> results() { return std::move(results_); }  // when all searches have ended

 private:
  const std::vector<BeamRequest>& requests_;
  const std::function<void(int64_t)> on_done_;
  const size_t searches_;
  const std::vector<size_t> order_;
  std::mutex mutex_;  // guards what follows
  size_t num_taken_ = 0;
  int64_t num_done_ = 0;
  std::vector<std::vector<Hypothesis>> results_;
};

}  // namespace weft
