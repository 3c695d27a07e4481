// tensor/transfer.h: copies tensors between host and device memory, and within a device.
#pragma once

#include <vector>

#include "tensor/context.h"

namespace weft {

// Copies run after ctx's earlier work. REQUIRES: `to` and `from` are contiguous and on ctx's device. After upload
// returns, the caller may overwrite `host`. In a dry run, upload and copy do nothing.
void upload(Context& ctx, const void* host, const Tensor& to);
void download(Context& ctx, const Tensor& from, void* host);    // waits for the values; requires no dry run
void copy(Context& ctx, const Tensor& from, const Tensor& to);  // enqueued; requires equal sizes and no overlap

template <typename T>
std::vector<T> to_host(Context& ctx, const Tensor& from) {
  assert(DTypeOf<T>::value == from.dtype);
  std::vector<T> values(static_cast<size_t>(from.numel()));
  download(ctx, from, values.data());
  return values;
}

// Returns an f32 tensor's values in host memory: the tensor's memory if it is on the CPU, otherwise `copy`, after
// filling it.
const float* on_host(Context& ctx, const Tensor& t, std::vector<float>& copy);

}  // namespace weft
