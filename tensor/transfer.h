// tensor/transfer.h: values between the host and a device's memory, and within it. On the CPU they are plain copies.
#pragma once

#include <vector>

#include "tensor/context.h"

namespace weft {

// Enqueued behind what ctx was asked for before. `to` and `from` are contiguous and lie on ctx's device.
void upload(Context& ctx, const void* host,
            const Tensor& to);  // `host` may be written again when it returns; dry: nothing
void download(Context& ctx, const Tensor& from, void* host);    // waits until the values are there; not for dry runs
void copy(Context& ctx, const Tensor& from, const Tensor& to);  // enqueued; of as many bytes, not overlapping

template <typename T>
std::vector<T> to_host(Context& ctx, const Tensor& from) {
  assert(DTypeOf<T>::value == from.dtype);
  std::vector<T> values(static_cast<size_t>(from.numel()));
  download(ctx, from, values.data());
  return values;
}

// A tensor of f32 where the host can read it: on the CPU its own memory, else `copy`, which takes its values.
const float* on_host(Context& ctx, const Tensor& t, std::vector<float>& copy);

}  // namespace weft
