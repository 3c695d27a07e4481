// model/decoding/parallel_search.h: runs several beam searches at the same time, each on some of this rank's threads.
//
// The ops of a decoding step are short, and the threads of an op wait for each other at its end. So a CPU decodes more
// sentences per second if each thread decodes its own sentences. The searches share the models' parameters and the
// sentences (search_work.h), and each has its own caches. A sentence's result does not depend on the search that it is
// in.
//
// There is only one search on GPUs, under tensor parallelism, and if a model has no inference copies (param_store.h):
// without them, each search would also compute its idle slots. A run in training has such copies only while it
// validates, so it has one search, whose memory its plan counts. There is also one search if OpenMP binds threads to
// cores, because the other searches would inherit the core of this thread.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "model/decoding/beam_search.h"

namespace weft {

class ParallelSearch {
 public:
  // Parameters as in BeamSearch. num_threads() threads are divided among at most 8 searches, and among no more than
  // `side_by_side`.
  ParallelSearch(const std::vector<SearchModel>& models, const SearchOptions& options, const TokenRules& rules = {},
                 int64_t side_by_side = 0);

  int64_t longest_source() const { return searches_.front().longest_source(); }
  int64_t longest_target() const { return searches_.front().longest_target(); }
  int64_t most_searches() const { return most_searches_; }

  // As BeamSearch::search, which runs in other threads if there are several searches. One thread at a time calls
  // on_done. Searches are made when they are first needed.
  std::vector<std::vector<Hypothesis>> search(const std::vector<BeamRequest>& requests,
                                              const std::function<void(int64_t)>& on_done = {});

 private:
  void add_search();

  std::vector<SearchModel> models_;
  SearchOptions options_;
  TokenRules rules_;
  int64_t side_by_side_, most_searches_;
  std::deque<Context> contexts_;  // of the models of all searches but the first
  std::deque<BeamSearch> searches_;
};

}  // namespace weft
