// trainer/cluster/timeline.h: a block's passes and collectives in time.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

enum class TimedKind : uint8_t { compute, tp, dp };

struct TimedOp {  // in the order of the program; a collective where it starts
  TimedKind kind = TimedKind::compute;
  double seconds = 0;
};

struct Timeline {      // seconds
  double compute = 0;  // alone
  double tp = 0;       // collectives of tensor parallelism, for which the computation waits
  double dp = 0;       // all-reduces of gradients, beside the computation and after it
  double exposed = 0;  // of these, after it
  double slowed = 0;   // how much longer the computation takes beside collectives
  double total() const { return compute + tp + exposed + slowed; }
};

// Collectives follow each other on one stream (parallel/nccl/stream.h). `lost`: processor.lost_to_collectives.
Timeline timeline_of(const std::vector<TimedOp>& ops, double lost);

}  // namespace weft
