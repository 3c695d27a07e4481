// model/decoding/parallel_search.h: runs several beam searches at the same time, each on some of this rank's threads.
//
// The ops of a decoding step are short, and the threads of an op wait for each other at its end. So a CPU decodes more
// sentences per second if each thread decodes its own sentences. The searches share the models' parameters, and each
// has its own caches. A sentence's result does not depend on the search that it is in.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "model/decoding/beam_search.h"

namespace weft {

class ParallelSearch {
 public:
  // Parameters as in BeamSearch. num_threads() threads are divided among at most 8 searches, and among no more than
  // `side_by_side`. On a GPU and under tensor parallelism, there is one search.
  ParallelSearch(const std::vector<SearchModel>& models, const SearchOptions& options, const TokenRules& rules = {},
                 int64_t side_by_side = 0);

  int64_t longest_source() const { return searches_.front().longest_source(); }
  int64_t longest_target() const { return searches_.front().longest_target(); }
  size_t memory_bytes() const;

  // As BeamSearch::search, which runs in other threads if there are several searches. One thread at a time calls
  // on_done.
  std::vector<std::vector<Hypothesis>> search(const std::vector<BeamRequest>& requests,
                                              const std::function<void(int64_t)>& on_done = {});

 private:
  std::deque<Context> contexts_;  // of the models of all searches but the first
  std::deque<BeamSearch> searches_;
};

}  // namespace weft
