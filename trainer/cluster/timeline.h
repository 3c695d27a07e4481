// trainer/cluster/timeline.h: computes how a block's computation and collectives overlap in time.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

enum class TimedKind : uint8_t { compute, tp, dp };

struct TimedOp {  // in program order; a collective is listed where it starts
  TimedKind kind = TimedKind::compute;
  double seconds = 0;
};

struct Timeline {      // all times in seconds
  double compute = 0;  // without collectives
  double tp = 0;       // collectives of tensor parallelism, for which computation waits
  double dp = 0;       // all-reduces of gradients, during and after computation
  double exposed = 0;  // the part of dp after computation
  double slowed = 0;   // additional time of computation due to collectives
  double total() const { return compute + tp + exposed + slowed; }
};

// Collectives run one after the other on one stream (parallel/nccl/stream.h). `lost` is processor.lost_to_collectives.
Timeline timeline_of(const std::vector<TimedOp>& ops, double lost);

}  // namespace weft
