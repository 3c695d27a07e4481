// trainer/cluster/timeline.cpp: simulates two streams, one that computes and one that communicates.
#include "trainer/cluster/timeline.h"

#include <algorithm>

namespace weft {

Timeline timeline_of(const std::vector<TimedOp>& ops, double lost) {
  Timeline line;
  double now = 0, free = 0;  // current time of the computation; end of the last collective
  for (const TimedOp& op : ops) {
    switch (op.kind) {
      case TimedKind::compute: {
        const double slowed = lost * std::clamp(free - now, 0.0, op.seconds);
        now += op.seconds + slowed;
        line.compute += op.seconds, line.slowed += slowed;
        break;
      }
      case TimedKind::tp:
        free = std::max(now, free) + op.seconds;
        line.tp += free - now;
        now = free;
        break;
      case TimedKind::dp:
        free = std::max(now, free) + op.seconds;
        line.dp += op.seconds;
        break;
    }
  }
  line.exposed = std::max(0.0, free - now);
  return line;
}

}  // namespace weft
