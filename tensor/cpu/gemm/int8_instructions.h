// tensor/cpu/gemm/int8_instructions.h: the instructions of x86-64 that multiply int8, for int8_panels.h.
//
// pmaddwd multiplies pairs of 16-bit numbers, into which int8 is widened: pmaddubsw, which multiplies bytes, would
// saturate. vpdpbusd and tdpbusd multiply unsigned by signed bytes and add groups of four exactly. Inline assembly is
// used because kernels are compiled for a level of x86-64, which these instructions do not belong to.
#pragma once

#include <cstring>

#include "tensor/cpu/gemm/amx.h"
#include "tensor/cpu/gemm/int8_panels.h"
#include "tensor/cpu/gemm/small_gemm.h"

#if defined(__SSE4_1__)
#include <immintrin.h>

namespace weft::cpu {

typedef int32_t Int32Lanes __attribute__((vector_size(kLanes * sizeof(int32_t))));
typedef int32_t UnalignedInt32Lanes __attribute__((vector_size(kLanes * sizeof(int32_t)), aligned(4), may_alias));

inline void store_sums(const Int32Lanes& sums, int32_t* to) { *reinterpret_cast<UnalignedInt32Lanes*>(to) = sums; }

inline Int32Lanes broadcast_word(const uint8_t* group) {
  int32_t word;
  std::memcpy(&word, group, sizeof word);
  return Int32Lanes{} + word;
}

// Multiplies bytes and adds pairs of products as 16-bit numbers, then pairs of those as 32-bit numbers.
struct PairInstructions {
  static constexpr int64_t kColumns = kLanes;
  static constexpr int kRows = kLanes == 16 ? 8 : 5, kVecs = kLanes == 16 ? 3 : 2;  // as many as fit into the registers
  using Sums = Int32Lanes;
  using Columns = Int32Lanes;

  static Columns load(const int8_t* from) { return *reinterpret_cast<const UnalignedInt32Lanes*>(from); }
  static Columns broadcast(const uint8_t* group) { return broadcast_word(group); }
  static void add_products(Sums& sums, Columns group, Columns columns) {
#if defined(__AVX512BW__)
    const __m512i pairs = _mm512_maddubs_epi16((__m512i)group, (__m512i)columns);
    sums += (Sums)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
    const __m256i pairs = _mm256_maddubs_epi16((__m256i)group, (__m256i)columns);
    sums += (Sums)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#else
    const __m128i pairs = _mm_maddubs_epi16((__m128i)group, (__m128i)columns);
    sums += (Sums)_mm_madd_epi16(pairs, _mm_set1_epi16(1));
#endif
  }
  static void store(const Sums& sums, int32_t* to) { store_sums(sums, to); }
};

#if defined(__AVX2__)
struct QuadInstructions : PairInstructions {  // AVX512_VNNI with vectors of 64 bytes, AVX-VNNI with vectors of 32 bytes
  static constexpr int kRows = kLanes == 16 ? 8 : 5;
  static void add_products(Sums& sums, Columns group, Columns columns) {
#if defined(__AVX512BW__)
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(group), "v"(columns));
#else
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(group), "x"(columns));
#endif
  }
};
#endif

#if defined(__AVX512BW__)
struct AmxTiles {
  static constexpr bool kInRegisters = true;

  template <int kTile>
  static void zero() {
    tile_zero<kTile>();
  }
  template <int kTile>
  static void load(const void* from, int64_t stride) {
    tile_load<kTile>(from, stride);
  }
  template <int kTile>
  static void store(void* to, int64_t stride) {
    tile_store<kTile>(to, stride);
  }
  template <int kSum, int kA, int kB>
  static void add_products() {
    tile_multiply_add_bytes<kSum, kA, kB>();
  }
};
#endif

}  // namespace weft::cpu
#endif
