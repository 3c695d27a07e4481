// parallel/nccl/event.cpp: creates streams that come before the computation.
#include "parallel/nccl/event.h"

namespace weft::nccl {

// The priority is above the computation's. Otherwise, other ranks would wait for this rank.
cudaStream_t make_urgent_stream() {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
  return stream;
}

}  // namespace weft::nccl
