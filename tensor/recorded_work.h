// tensor/recorded_work.h: work that a rank repeats with the same ops on the same memory. On a GPU it is recorded as a
// CUDA graph, and one launch replaces hundreds.
//
// The first run executes directly, because GEMMs choose their plans then. The second is recorded and replayed; later
// runs are replayed. Ops read the values that differ between runs when they execute (tensor/op/step_scalars.h).
#pragma once

#include <cassert>
#include <memory>

#include "tensor/context.h"

namespace weft {

class RecordedWork {
 public:
  // With a trace, work executes directly, because a replay does not show its ops.
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
