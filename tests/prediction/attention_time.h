// tests/prediction/attention_time.h: predicted time of attention's kernels, from the sentences of a block.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/prediction/kernel_costs.h"

namespace weft {

struct SentenceSpans {  // [B] each: the first row of a sentence, and one past its last
  std::vector<int32_t> begin, end;
};

struct AttentionShape {
  SentenceSpans queries, keys;
  int64_t rows = 0;  // of queries, used or not
  int64_t heads = 1, kv_heads = 1;
  int64_t head_size = 64;
  bool causal = false;
  double bytes = 0;
};

// 45 % of the bound by instructions and 55 % of the latency of blocks that are scheduled on the SMs in order, as the
// loads of a warp wait for each other (kernel_costs.h).
double attention_forward_seconds(const GpuModel& gpu, const AttentionShape& shape, bool graph);
double attention_backward_seconds(const GpuModel& gpu, const AttentionShape& shape, bool graph);

}  // namespace weft
