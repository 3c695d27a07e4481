// tensor/recorded_work.h: holds work that a rank repeats with the same ops on the same memory. A GPU records the work
// as a CUDA graph, so one launch replaces hundreds. Values that differ between runs are read when the ops execute
// (tensor/op/step_scalars.h).
#pragma once

#include <memory>

#include "tensor/context.h"

namespace weft {

class RecordedWork {
 public:
  // Replays the recording, or executes `work` if there is none. If ctx has a trace, work executes directly, because a
  // replay does not show single ops.
  template <typename Work>
  void run(Context& ctx, const Work& work) {
    if (recording_ == nullptr || ctx.trace() != nullptr) return work();
    ctx.replay(*recording_);
  }

  // Records `work` for later runs and executes it directly. Throws what Context::record() throws, before it executes
  // anything. REQUIRES: the same work was executed before, because GEMMs choose their plans in the first execution.
  template <typename Work>
  void record(Context& ctx, const Work& work) {
    if (recording_ == nullptr && ctx.trace() == nullptr) recording_ = ctx.record(work);
    work();
  }

  void forget() { recording_ = nullptr; }
  bool recorded() const { return recording_ != nullptr; }

 private:
  std::unique_ptr<Context::Runtime::Recording> recording_;
};

}  // namespace weft
