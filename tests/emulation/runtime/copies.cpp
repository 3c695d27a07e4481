// tests/emulation/runtime/copies.cpp: copies and fills. Pinned and device memory is read when the copy is
// executed. A copy from pageable memory, which CUDA stages, reads the bytes immediately; a copy to pageable
// memory waits.
#include <cstring>
#include <memory>
#include <vector>

#include "tests/emulation/machine/machine.h"
#include "tests/emulation/runtime/capture.h"

using namespace weft::emulation;

namespace {

struct Side {
  int device = -1;  // -1: the host
  bool is_pinned = false;
};

Side side_of(const void* data, size_t bytes, const char* which) {
  const int device = machine().device_of(data);
  if (device >= 0 && !is_device_memory(data, bytes))
    fail(cudaErrorInvalidValue, std::string("the ") + which + ", " + std::to_string(bytes) +
                                    " bytes, does not lie in one allocation of device memory");
  return {device, device < 0 && is_pinned_memory(data, bytes)};
}

void require_kind(const Side& to, const Side& from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDeviceToDevice)
    fail(cudaErrorInvalidMemcpyDirection, "no cudaMemcpyKind");
  const auto check = [](const Side& side, bool wants_device, const char* which) {
    if ((side.device >= 0) != wants_device)
      fail(cudaErrorInvalidValue, std::string("the ") + which + " is " + (wants_device ? "host" : "device") +
                                      " memory, against the cudaMemcpyKind");
  };
  check(to, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice, "destination");
  check(from, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice, "source");
}

Counted counted_as(const Side& target, const Side& source, size_t bytes) {
  const auto name = [](const Side& side) {
    return std::string(side.device >= 0 ? "device" : side.is_pinned ? "pinned host" : "pageable host");
  };
  return {.what = "copy " + name(source) + " to " + name(target), .bytes = bytes};
}

Work copy_work(void* to, const void* from, size_t bytes, const Side& target, const Side& source) {
  std::shared_ptr<std::vector<std::byte>> staged;
  if (source.device < 0 && !source.is_pinned) {
    const auto* const begin = static_cast<const std::byte*>(from);
    staged = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
  }
  const bool only_one = target.device < 0 || source.device < 0 || target.device == source.device;
  return {.run =
              [=, device = std::max(target.device, source.device)](Access& access) {
                only_one ? device >= 0 ? access.open(device) : access.close() : access.open_all();
                std::memcpy(to, staged == nullptr ? from : staged->data(), bytes);
                return Progress::finished;
              },
          .counted = counted_as(target, source, bytes)};
}

// `waits`: cudaMemcpy, which returns when host memory is no longer in use.
void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream, bool waits) {
  auto lock = machine().lock();
  const auto queue = queue_of(stream);
  machine().sound_device(queue->device);
  if (bytes == 0) return;
  const Side target = side_of(to, bytes, "destination"), source = side_of(from, bytes, "source");
  require_kind(target, source, kind);
  const bool to_pageable = target.device < 0 && !target.is_pinned;
  const bool from_pageable = source.device < 0 && !source.is_pinned;
  if (queue->capture != nullptr && (to_pageable || from_pageable))
    queue->capture->refuse(cudaErrorStreamCaptureUnsupported, "a copy of pageable memory in a capture");
  const Point done = machine().push(queue, copy_work(to, from, bytes, target, source));
  if (to_pageable || (waits && (target.device < 0 || source.device < 0))) {
    count(queue->device, {.what = "wait in a copy"});
    machine().wait(lock, [&] { return done.reached(); });
    machine().sound_device(queue->device);
  }
}

void fill(void* data, int value, size_t bytes, cudaStream_t stream) {
  const auto lock = machine().lock();
  const auto queue = queue_of(stream);
  machine().sound_device(queue->device);
  if (bytes == 0) return;
  const Side target = side_of(data, bytes, "destination");
  if (target.device < 0) fail(cudaErrorInvalidValue, "cudaMemset of host memory");
  machine().push(queue, {.run =
                             [=](Access& access) {
                               access.open(target.device);
                               std::memset(data, value, bytes);
                               return Progress::finished;
                             },
                         .counted = {.what = "cudaMemset", .bytes = bytes}});
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&] { copy(to, from, bytes, kind, stream, false); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return call([&] {
    {
      const auto lock = machine().lock();
      require_no_capture("cudaMemcpy");
    }
    copy(to, from, bytes, kind, nullptr, true);
  });
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  return call([&] { fill(data, value, bytes, stream); });
}

cudaError_t cudaMemset(void* data, int value, size_t bytes) {  // does not wait
  return call([&] {
    {
      const auto lock = machine().lock();
      require_no_capture("cudaMemset");
    }
    fill(data, value, bytes, nullptr);
  });
}
