// parallel/nccl/event.h: orders the streams of a GPU.
#pragma once

#include "parallel/nccl/check.h"

namespace weft::nccl {

class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  ~Event() { cudaEventDestroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { check(cudaEventRecord(handle_, stream), "cudaEventRecord"); }
  void hold(cudaStream_t stream) { check(cudaStreamWaitEvent(stream, handle_, 0), "cudaStreamWaitEvent"); }

 private:
  cudaEvent_t handle_ = nullptr;
};

// Creates a stream whose work does not wait until a kernel of the backward pass leaves the GPU.
cudaStream_t make_urgent_stream();

}  // namespace weft::nccl
