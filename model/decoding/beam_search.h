// model/decoding/beam_search.h: translations of many sentences by beam search with cached keys and values; beam 1 is
// greedy.
//
// A sentence's result does not depend on what shares the batch: the decoder has a fixed number of slots, the encoder
// windows of fixed size (slot_decoder.h), and a row of a GEMM does not depend on its place. Sentences enter as slots
// get free, long ones first. Under tensor parallelism all ranks of the tp group make the same calls and decide alike.
// Any piece may be predicted but bos. Reads: beam.h (what the search does), slot_decoder.h (how it is computed).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/decoding/beam.h"
#include "model/decoding/slot_decoder.h"

namespace weft {

struct BeamRequest {
  std::vector<int32_t> source;  // pieces without eos, at most longest_source()
  int64_t max_pieces = 0;       // of a hypothesis, at most longest_target()
};

class BeamSearch {
 public:
  // At most `side_by_side` sentences at a time; 0 = as many as fit. It changes the speed only.
  BeamSearch(Context& ctx, const Transformer& model, const TensorParallel& tp, const BeamOptions& options,
             int64_t side_by_side = 0);

  int64_t longest_source() const { return decoder_.shape().window_rows - 1; }
  int64_t longest_target() const { return longest_target_; }
  size_t memory_bytes() const { return decoder_.memory_bytes(); }

  // The n-best list of each request, in their order. `on_done` is told how many requests are done.
  std::vector<std::vector<Hypothesis>> search(const std::vector<BeamRequest>& requests,
                                              const std::function<void(int64_t)>& on_done = {});

 private:
  class Run;
  BeamOptions options_;
  int64_t longest_target_, num_groups_, rows_per_slot_, side_by_side_;
  SlotDecoder decoder_;
};

}  // namespace weft
