// tensor/cuda/pinned_ring.cpp: copies to the device in parts of at most half a ring.
#include "tensor/cuda/pinned_ring.h"

#include <algorithm>
#include <cstring>

#include "tensor/cuda/runtime.h"

namespace weft::cuda {
namespace {

constexpr size_t kAlignment = 256;  // of each part: copies are fastest from whole lines

}  // namespace

void PinnedRing::allocate() {
  for (cudaEvent_t& event : read_)
    if (event == nullptr) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  void* data = nullptr;
  check(cudaMallocHost(&data, 2 * kHalfBytes), "cudaMallocHost (pinned memory for copies)");
  data_ = static_cast<char*>(data);
}

PinnedRing::~PinnedRing() {
  if (data_ != nullptr) (void)cudaFreeHost(data_);
  for (cudaEvent_t event : read_)
    if (event != nullptr) (void)cudaEventDestroy(event);
}

void PinnedRing::turn(cudaStream_t stream) {
  check(cudaEventRecord(read_[half_], stream), "upload");
  half_ = 1 - half_;
  check(cudaEventSynchronize(read_[half_]), "upload");  // at once for a half that was never filled
  used_ = 0;
}

void PinnedRing::upload(const void* host, void* device, size_t bytes, cudaStream_t stream) {
  if (data_ == nullptr) allocate();
  const char* from = static_cast<const char*>(host);
  char* to = static_cast<char*>(device);
  while (bytes > 0) {
    if (used_ >= kHalfBytes) turn(stream);
    const size_t part = std::min(bytes, kHalfBytes - used_);
    char* const pinned = data_ + half_ * kHalfBytes + used_;
    std::memcpy(pinned, from, part);
    check(cudaMemcpyAsync(to, pinned, part, cudaMemcpyHostToDevice, stream), "upload");
    used_ += (part + kAlignment - 1) / kAlignment * kAlignment;
    from += part;
    to += part;
    bytes -= part;
  }
}

}  // namespace weft::cuda
