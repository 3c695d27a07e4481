// tensor/recorded_work.h: work that a rank does again and again with the same ops on the same memory: on a GPU it is
// recorded as a CUDA graph and launched as a whole, in place of hundreds of launches that the host must keep up with.
//
// The first run is done as it comes: products find their plans then. The second is recorded and replayed, those after
// it are replayed. What differs from run to run is read by the ops when they run (tensor/step_state.h).
#pragma once

#include <cassert>
#include <memory>

#include "tensor/context.h"

namespace weft {

class RecordedWork {
 public:
  // While ctx has a trace, work is done as it comes: a replay tells nothing of its ops.
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
