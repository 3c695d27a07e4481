// tensor/cpu/peak.cpp: finds the best time of one loop per instruction, on all threads.
//
// Each loop keeps enough independent sums to hide the instruction's latency. Each function is compiled for its own
// instructions, so the program also starts on processors without these instructions.
#include "tensor/cpu/peak.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tensor/clock.h"
#include "tensor/cpu/gemm/amx.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

struct Loop {
  const char* instruction;
  DType dtype;
  double flops_per_round;
  float (*run)(int64_t rounds);  // the result only keeps the compiler from removing the loop
};

constexpr float kFactor = 0.5f, kTerm = 0.75f;  // sums converge to kTerm / (1 - kFactor), so no denormals slow them

#if defined(__x86_64__)

constexpr int kSums512 = 16, kSums256 = 12;  // with two operands, the sums fit into 32 and 16 registers

__attribute__((target("avx512f"))) float fma512(int64_t rounds) {
  __m512 sums[kSums512];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0f);
  const __m512 x = _mm512_set1_ps(kFactor), y = _mm512_set1_ps(kTerm);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums512; ++i) sums[i] = _mm512_fmadd_ps(sums[i], x, y);
  }
  __m512 total = sums[0];
  for (int i = 1; i < kSums512; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx2,fma"))) float fma256(int64_t rounds) {
  __m256 sums[kSums256];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1.0f);
  const __m256 x = _mm256_set1_ps(kFactor), y = _mm256_set1_ps(kTerm);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums256; ++i) sums[i] = _mm256_fmadd_ps(sums[i], x, y);
  }
  __m256 total = sums[0];
  for (int i = 1; i < kSums256; ++i) total = _mm256_add_ps(total, sums[i]);
  return _mm256_cvtss_f32(total);
}

__attribute__((target("avx512f,avx512bf16"))) float dot512(int64_t rounds) {
  __m512 sums[kSums512];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const __m512bh x = _mm512_cvtne2ps_pbh(_mm512_set1_ps(kFactor), _mm512_set1_ps(-kFactor));
  const __m512bh y = _mm512_cvtne2ps_pbh(_mm512_set1_ps(kTerm), _mm512_set1_ps(kTerm));
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums512; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], x, y);
  }
  __m512 total = sums[0];
  for (int i = 1; i < kSums512; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

constexpr int kTileSums = 4;

// Computes four sums of 2 x 2 tiles, as in a GEMM with these instructions.
float tiles(int64_t rounds) {
  using namespace cpu;
  const TileConfig config;
  alignas(64) uint16_t ones[kTileRows * kTileHalves];
  alignas(64) float sums[kTileRows * kTileFloats];
  std::fill(std::begin(ones), std::end(ones), uint16_t{0x3f80});  // 1 as bf16
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
  tile_load<4>(ones, kTileBytes);
  tile_load<5>(ones, kTileBytes);
  tile_load<6>(ones, kTileBytes);
  tile_load<7>(ones, kTileBytes);
  for (int64_t r = 0; r < rounds; ++r) {
    tile_multiply_add<0, 4, 6>();
    tile_multiply_add<1, 4, 7>();
    tile_multiply_add<2, 5, 6>();
    tile_multiply_add<3, 5, 7>();
  }
  tile_store<0>(sums, kTileBytes);
  return sums[0];
}

#endif

// Runs on any processor, with vectors that the compiler chooses.
float fma_plain(int64_t rounds) {
  constexpr int kSums = 64;
  float sums[kSums];
  std::fill(std::begin(sums), std::end(sums), 1.0f);
  for (int64_t r = 0; r < rounds; ++r)
    for (float& sum : sums) sum = std::fma(sum, kFactor, kTerm);
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

std::vector<Loop> loops_of_this_machine() {
  std::vector<Loop> loops;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f"))
    loops.push_back({"AVX-512 FMA", DType::f32, 2.0 * 16 * kSums512, fma512});
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    loops.push_back({"AVX2 FMA", DType::f32, 2.0 * 8 * kSums256, fma256});
  if (__builtin_cpu_supports("avx512bf16"))
    loops.push_back({"AVX-512 vdpbf16ps", DType::bf16, 2.0 * 32 * kSums512, dot512});
  constexpr double kTileFlops = 2.0 * cpu::kTileRows * cpu::kTileFloats * cpu::kTileHalves;
  if (cpu::has_amx()) loops.push_back({"AMX tdpbf16ps", DType::bf16, kTileFlops * kTileSums, tiles});
#endif
  if (loops.empty()) loops.push_back({"fused multiply-add", DType::f32, 2.0 * 64, fma_plain});
  return loops;
}

// Returns the time from the start of the first thread to the end of the last thread.
double time_of(const Loop& loop, int64_t rounds) {
  double begin = 0, end = 0;
  volatile float kept = 0;
#pragma omp parallel
  {
#pragma omp barrier
#pragma omp master
    begin = monotonic_seconds();
    const float result = loop.run(rounds);
#pragma omp critical
    {
      kept = kept + result;
      end = std::max(end, monotonic_seconds());
    }
  }
  return end - begin;
}

double best_rate(const Loop& loop, double seconds) {
  // Bursts are long enough to make thread start-up negligible, and short enough that some are not interrupted.
  constexpr double kTry = 0.001;
  const double begin = monotonic_seconds();
  double best = 0;
  for (int64_t rounds = 1 << 10;;) {
    const double time = time_of(loop, rounds);
    best = std::max(best, loop.flops_per_round * static_cast<double>(rounds) * omp_get_max_threads() / time);
    if (time < kTry)
      rounds *= 2;
    else if (monotonic_seconds() - begin > seconds)
      return best;
  }
}

}  // namespace

std::vector<PeakRate> measure_peaks(double seconds) {
  const std::vector<Loop> loops = loops_of_this_machine();
  std::vector<PeakRate> peaks;
  for (const Loop& loop : loops)
    peaks.push_back({loop.instruction, loop.dtype, best_rate(loop, seconds / static_cast<double>(loops.size()))});
  return peaks;
}

}  // namespace weft
