// tensor/recorded_work.h: runs work that a rank repeats with the same ops on the same memory. A GPU records the work as
// a CUDA graph, so one launch replaces hundreds.
//
// The first run executes directly, because GEMMs choose their plans in it. The second run is recorded and replayed, and
// later runs are replayed. Values that differ between runs are read when the ops execute (tensor/op/step_scalars.h).
#pragma once

#include <cassert>
#include <memory>

#include "tensor/context.h"

namespace weft {

class RecordedWork {
 public:
  // If ctx has a trace, work executes directly, because a replay does not show single ops.
  template <typename Work>
  void run(Context& ctx, const Work& work) {
    if (ctx.trace() != nullptr || !prepared_) {
      work();
      prepared_ = true;
      return;
    }
    if (recording_ == nullptr) recording_ = ctx.runtime().record(work);
    assert(recording_ != nullptr);
    recording_->replay();
  }
  bool recorded() const { return recording_ != nullptr; }

 private:
  bool prepared_ = false;
  std::unique_ptr<Context::Runtime::Recording> recording_;
};

}  // namespace weft
