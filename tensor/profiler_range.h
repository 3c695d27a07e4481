// tensor/profiler_range.h: names a part of the work for a profiler. On a GPU this is an NVTX range, which Nsight
// Systems shows above the kernels enqueued in it. On a CPU, this does nothing.
//
//   const ProfilerRange range(p.ctx, "encoder.0");
#pragma once

#include <string>

#include "tensor/context.h"

namespace weft {

class ProfilerRange {
 public:
  ProfilerRange(const Context& ctx, const std::string& name) : runtime_(ctx.runtime()) {
    runtime_.begin_range(name.c_str());
  }
  ~ProfilerRange() { runtime_.end_range(); }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  Context::Runtime& runtime_;
};

}  // namespace weft
