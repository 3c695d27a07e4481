// tensor/cpu/gemm/int8_instructions.h: the instructions of x86-64 that multiply int8, for int8_panels.h.
//
// pmaddubsw multiplies unsigned by signed bytes and adds pairs in 16 bits, and pmaddwd adds those pairs in 32 bits.
// vpdpbusd and tdpbusd add groups of four products at once. Inline assembly is used for these two because kernels are
// compiled for a level of x86-64, which they do not belong to.
#pragma once

#include <cstring>

#include "tensor/cpu/gemm/amx.h"
#include "tensor/cpu/gemm/int8_panels.h"

#if defined(__SSE4_1__)
#include <immintrin.h>

namespace weft::cpu {

// Integer vectors may be shorter than those of floats: AVX without AVX2 has integer instructions of 16 bytes only.
#if defined(__AVX512BW__)
inline constexpr int64_t kInt32Lanes = 16;
#elif defined(__AVX2__)
inline constexpr int64_t kInt32Lanes = 8;
#else
inline constexpr int64_t kInt32Lanes = 4;
#endif
typedef int32_t Int32Lanes __attribute__((vector_size(kInt32Lanes * sizeof(int32_t))));
typedef int32_t UnalignedInt32Lanes __attribute__((vector_size(kInt32Lanes * sizeof(int32_t)), aligned(4), may_alias));

struct PairInstructions {
  static constexpr int64_t kColumns = kInt32Lanes;
  static constexpr bool kHas32Registers = kInt32Lanes == 16;
  static constexpr int kRows = kHas32Registers ? 8 : 5, kVecs = kHas32Registers ? 3 : 2;  // as many as fit into them
  using Sums = Int32Lanes;
  using Columns = Int32Lanes;

  static Columns load(const int8_t* from) { return *reinterpret_cast<const UnalignedInt32Lanes*>(from); }
  static Columns broadcast(const uint8_t* group) {
    int32_t word;
    std::memcpy(&word, group, sizeof word);
    return Int32Lanes{} + word;
  }
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
  static void store(const Sums& sums, int32_t* to) { *reinterpret_cast<UnalignedInt32Lanes*>(to) = sums; }
};

#if defined(__AVX2__)
struct QuadInstructions : PairInstructions {  // AVX512_VNNI with vectors of 64 bytes, AVX-VNNI with vectors of 32 bytes
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
