// tensor/cuda/vector.cuh: accesses eight neighboring elements of a row at a time, in 16 bytes where alignment allows.
//
// A thread processes groups of eight columns. A group shares one Philox call, and in bf16 or f16 it has 16 bytes. A
// full group that starts at a multiple of 16 bytes uses 16-byte accesses; other groups are accessed element by element.
// So column slices, odd widths and row ends need no separate kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "tensor/cuda/intrinsics.cuh"
#include "tensor/half.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace weft::cuda {

inline constexpr int kGroup = DropoutMask::kGroup;

// A matrix as kernels use it. `data` is null if the matrix is absent.
template <typename T>
struct Rows {
  T* data = nullptr;
  int64_t stride = 0;
  __device__ T* operator[](int64_t row) const { return data + row * stride; }
};
template <typename T>
Rows<T> rows_of(const Tensor& t) {
  return t.empty() ? Rows<T>{} : Rows<T>{t.ptr<T>(), t.row_stride};
}
template <typename T = float>
T* vector_of(const Tensor& t) {
  return t.empty() ? nullptr : t.ptr<T>();
}

// One access of 16 bytes.
template <typename T>
struct alignas(16) Packet {
  static constexpr int kSize = 16 / sizeof(T);
  T v[kSize];
};

// Returns true if a group of `count` elements at `at` is accessed in packets.
template <typename T>
__device__ inline bool in_packets(const T* at, int64_t count) {
  return count >= kGroup && reinterpret_cast<uintptr_t>(at) % alignof(Packet<T>) == 0;
}

// Loads the group's first `count` elements. The others become 0 and are not read.
template <typename T>
__device__ inline void load_stored(const T* from, int64_t count, T (&to)[kGroup]) {
  if (in_packets(from, count)) {
    for (int i = 0; i < kGroup; i += Packet<T>::kSize) {
      const Packet<T> packet = *reinterpret_cast<const Packet<T>*>(from + i);
      for (int j = 0; j < Packet<T>::kSize; ++j) to[i + j] = packet.v[j];
    }
  } else {
    for (int i = 0; i < kGroup; ++i) to[i] = i < count ? from[i] : T{};
  }
}
template <typename T>
__device__ inline void store_packets(const T (&from)[kGroup], T* to) {
  for (int i = 0; i < kGroup; i += Packet<T>::kSize) {
    uint32_t words[4];
    memcpy(words, from + i, sizeof words);
    store_words(to + i, words[0], words[1], words[2], words[3]);
  }
}
template <typename T>
__device__ inline void store_stored(const T (&from)[kGroup], T* to, int64_t count) {
  if (in_packets(to, count)) {
    store_packets(from, to);
  } else {
    for (int i = 0; i < kGroup; ++i)
      if (i < count) to[i] = from[i];
  }
}

// load and store convert from and to f32, and round when they store.
template <typename T>
__device__ inline void load(const T* from, int64_t count, float (&to)[kGroup]) {
  T stored[kGroup];
  load_stored(from, count, stored);
  for (int i = 0; i < kGroup; ++i) to[i] = to_float(stored[i]);
}
// REQUIRES: a full group at a multiple of 16 bytes.
template <typename T>
__device__ inline void store_aligned(const float (&from)[kGroup], T* to) {
  if constexpr (sizeof(T) == 2) {
    store_words(to, rounded_pair<T>(from[0], from[1]), rounded_pair<T>(from[2], from[3]),
                rounded_pair<T>(from[4], from[5]), rounded_pair<T>(from[6], from[7]));
  } else {
    store_packets(from, to);
  }
}

template <typename T>
__device__ inline void store(const float (&from)[kGroup], T* to, int64_t count) {
  if (in_packets(to, count)) return store_aligned(from, to);
  for (int i = 0; i < kGroup; ++i)
    if (i < count) to[i] = from_float<T>(from[i]);
}

// Rounds the group to T's precision.
template <typename T>
__device__ inline void round_group(float (&x)[kGroup]) {
  if constexpr (sizeof(T) == 2) {
    for (int i = 0; i < kGroup; i += 2) {
      const uint32_t pair = rounded_pair<T>(x[i], x[i + 1]);
      x[i] = to_float(T{static_cast<uint16_t>(pair)}), x[i + 1] = to_float(T{static_cast<uint16_t>(pair >> 16)});
    }
  }
}

// Adds the group at `from` to x.
template <typename T>
__device__ inline void add_group(const T* from, int64_t count, float (&x)[kGroup]) {
  float other[kGroup];
  load(from, count, other);
  for (int i = 0; i < kGroup; ++i) x[i] += other[i];
}

}  // namespace weft::cuda
