// tensor/transfer.h: copies between host and device memory, and within device memory. On the CPU they are plain copies.
#pragma once

#include <vector>

#include "tensor/context.h"

namespace weft {

// Copies are enqueued after ctx's earlier work. REQUIRES: `to` and `from` are contiguous and on ctx's device.
// When upload returns, `host` may be overwritten. In a dry run it does nothing.
void upload(Context& ctx, const void* host, const Tensor& to);
void download(Context& ctx, const Tensor& from, void* host);    // waits for the values; REQUIRES: not a dry run
void copy(Context& ctx, const Tensor& from, const Tensor& to);  // enqueued; REQUIRES: same number of bytes, no overlap

template <typename T>
std::vector<T> to_host(Context& ctx, const Tensor& from) {
  assert(DTypeOf<T>::value == from.dtype);
  std::vector<T> values(static_cast<size_t>(from.numel()));
  download(ctx, from, values.data());
  return values;
}

// Returns an f32 tensor's values in host memory: its own memory on the CPU, else `copy`, which is filled with them.
const float* on_host(Context& ctx, const Tensor& t, std::vector<float>& copy);

}  // namespace weft
