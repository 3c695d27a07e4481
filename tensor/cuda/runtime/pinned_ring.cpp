// tensor/cuda/runtime/pinned_ring.cpp: copies data in chunks of at most half a ring.
#include "tensor/cuda/runtime/pinned_ring.h"

#include <algorithm>
#include <cstring>

#include "tensor/cuda/runtime/runtime.h"

namespace weft::cuda {
namespace {

constexpr size_t kAlignment = 256;  // of chunks, in bytes: copies are fastest from full cache lines

}  // namespace

void PinnedRing::allocate() {
  for (cudaEvent_t& event : done_)
    if (event == nullptr) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  void* data = nullptr;
  check(cudaMallocHost(&data, 2 * kHalfBytes), "cudaMallocHost (pinned memory for copies)");
  data_ = static_cast<char*>(data);
}

PinnedRing::~PinnedRing() {
  if (data_ != nullptr) (void)cudaFreeHost(data_);
  for (cudaEvent_t event : done_)
    if (event != nullptr) (void)cudaEventDestroy(event);
}

void PinnedRing::turn(cudaStream_t stream) {
  check(cudaEventRecord(done_[half_], stream), "upload");
  half_ = 1 - half_;
  check(cudaEventSynchronize(done_[half_]), "upload");  // returns at once for a half that was never filled
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

// The device may write to a half at any time, because the stream executes earlier reads of the half first. The host
// copies one chunk out while the next chunk arrives.
void PinnedRing::download(const void* device, void* host, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;  // uploads may be pending, whose halves only a wait frees
  if (data_ == nullptr) allocate();
  const char* from = static_cast<const char*>(device);
  char* to = static_cast<char*>(host);
  const size_t parts = (bytes + kHalfBytes - 1) / kHalfBytes;
  const auto size = [&](size_t part) { return std::min(bytes - part * kHalfBytes, kHalfBytes); };
  const auto half = [&](size_t part) { return data_ + part % 2 * kHalfBytes; };
  for (size_t part = 0; part <= parts; ++part) {
    if (part < parts) {
      check(cudaMemcpyAsync(half(part), from + part * kHalfBytes, size(part), cudaMemcpyDeviceToHost, stream),
            "download");
      check(cudaEventRecord(done_[part % 2], stream), "download");
    }
    if (part == 0) continue;
    check(cudaEventSynchronize(done_[(part - 1) % 2]), "download");
    std::memcpy(to + (part - 1) * kHalfBytes, half(part - 1), size(part - 1));
  }
  half_ = used_ = 0;  // no copy is pending
}

}  // namespace weft::cuda
