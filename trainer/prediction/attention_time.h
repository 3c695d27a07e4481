// trainer/prediction/attention_time.h: predicted time of an attention kernel, from the sentences of a block.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/prediction/kernel_costs.h"

namespace weft {

struct SentenceSpans {  // [B] each: the first row of a sentence, and one past its last
  std::vector<int32_t> begin, end;
};

struct AttentionShape {
  SentenceSpans own, other;      // rows of the tiles' side and of the chunks' side
  int64_t rows = 0;              // of the tiles' side, used or not
  int64_t heads = 1, group = 1;  // of the tiles' side; chunks of so many heads for each of them
  int64_t head_size = 64;
  bool causal = false;
  double bytes = 0;
};

// 45 % of the bound by instructions and 55 % of the latency of blocks that are scheduled on the SMs in order, as the
// loads of a warp wait for each other (kernel_costs.h).
double attention_seconds(const GpuModel& gpu, const AttentionCost& cost, const AttentionShape& shape, bool graph);

}  // namespace weft
