// tensor/cpu/streaming.h: writes large results with non-temporal stores. These bypass the caches, so that memory is not
// read before it is written.
#pragma once

#include <cstdint>
#include <cstring>

#include "tensor/tensor.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::cpu {

inline constexpr int64_t kCacheLine = 64;

// Returns true if a tensor is so large that the step's other tensors would evict it from the caches before it is read.
inline bool worth_streaming(const Tensor& t) { return t.bytes() >= size_t{1} << 18; }

inline bool begins_line(const void* p) { return reinterpret_cast<uintptr_t>(p) % kCacheLine == 0; }

// Stores a full cache line, which other threads see after stream_fence().
inline void stream_line(void* to, const void* from) {
#if defined(__AVX512F__)
  _mm512_stream_si512(static_cast<__m512i*>(to), _mm512_loadu_si512(from));
#elif defined(__x86_64__)
  for (int i = 0; i < 4; ++i)
    _mm_stream_si128(static_cast<__m128i*>(to) + i, _mm_loadu_si128(static_cast<const __m128i*>(from) + i));
#else
  std::memcpy(to, from, kCacheLine);
#endif
}

inline void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace weft::cpu
