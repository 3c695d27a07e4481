// tensor/cpu/gemm/gemm_weights.cpp: packs weights into panels, and multiplies a few rows by a panel at a time.
#include "tensor/cpu/gemm/gemm_weights.h"

#if defined(__AVX2__)

#include <immintrin.h>

#include <algorithm>

#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/gemm/gemm_tiles.h"
#include "tensor/cpu/gemm/small_gemm.h"
#include "tensor/cpu/runtime.h"

namespace weft::cpu {

namespace {

constexpr int64_t kPanelVecs = 3, kPanelCols = kPanelVecs * kLanes;
constexpr int64_t kRowsAtOnce = kBlockRows;  // the registers hold 24 or 12 sums, three panel vectors, a factor
constexpr int64_t kRowsOfTask = 64;          // rows multiplied while a panel is in the L1 or L2 cache

#if defined(__AVX512BW__)
bool multiplies_halves() {
  static const bool has_it = __builtin_cpu_supports("avx512bf16") && !has_gemm_tiles();
  return has_it;
}
#else
bool multiplies_halves() { return false; }
#endif

int64_t panels(int64_t n) { return (n + kPanelCols - 1) / kPanelCols; }

// Returns the number of columns that a panel has in memory, in full vectors.
int64_t width_of(int64_t panel, int64_t n) { return round_up_to_lanes(std::min(kPanelCols, n - panel * kPanelCols)); }

// Column `col` of a panel is row first + col of W. A depth's columns are adjacent. In bf16, two depths alternate.
template <typename T>
void pack_panel(const Tensor& w, int64_t panel, T* to) {
  constexpr int64_t kTogether = std::is_same_v<T, BFloat16> ? 2 : 1;
  const int64_t n = w.rows(), k = w.cols(), first = panel * kPanelCols, width = width_of(panel, n);
  for (int64_t col = 0; col < width; ++col) {
    const T* row = w.ptr<T>() + (first + col) * w.row_stride;
    for (int64_t depth = 0; depth < k; ++depth)
      to[depth / kTogether * width * kTogether + col * kTogether + depth % kTogether] =
          first + col < n ? row[depth] : T{};
  }
}

template <typename T>
void pack(const Tensor& w, T* to) {
  const int64_t count = panels(w.rows());
#pragma omp parallel for schedule(static) if (w.numel() >= kWorthThreads)
  for (int64_t panel = 0; panel < count; ++panel) pack_panel(w, panel, to + panel * kPanelCols * w.cols());
}

// Computes sums[kRows][kVecs] = a [kRows, k] times a panel.
template <int kRows, int kVecs>
inline void multiply_panel(int64_t k, const float* a, int64_t stride, const float* panel, float* sums) {
  small_gemm_block<kRows, kVecs, true, false>(k, {a, stride}, {panel, kVecs * kLanes}, {sums, kVecs * kLanes}, kLanes);
}

#if defined(__AVX512BW__)
template <int kRows, int kVecs>
__attribute__((target("avx512bf16"))) inline void multiply_panel(int64_t k, const BFloat16* a, int64_t stride,
                                                                 const BFloat16* panel, float* to) {
  __m512 sums[kRows][kVecs];
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVecs; ++v) sums[i][v] = _mm512_setzero_ps();
  for (int64_t depth = 0; depth < k; depth += 2) {
    __m512i columns[kVecs];
    for (int v = 0; v < kVecs; ++v) columns[v] = _mm512_loadu_si512(panel + depth * kVecs * kLanes + v * 2 * kLanes);
    for (int i = 0; i < kRows; ++i) {
      int32_t pair;
      std::memcpy(&pair, a + i * stride + depth, sizeof pair);
      const __m512i factors = _mm512_set1_epi32(pair);
      for (int v = 0; v < kVecs; ++v)
        sums[i][v] = _mm512_dpbf16_ps(sums[i][v], (__m512bh)factors, (__m512bh)columns[v]);
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVecs; ++v) _mm512_storeu_ps(to + (i * kVecs + v) * kLanes, sums[i][v]);
}
#endif

template <typename T>
struct RowsOfA {  // [count, k]
  const T* data;
  int64_t stride, count, k;
};

template <int kVecs, typename T, int kRows = kRowsAtOnce>
void multiply_rows(const RowsOfA<T>& a, const T* panel, float* sums) {
  if constexpr (kRows > 1)
    if (a.count < kRows) return multiply_rows<kVecs, T, kRows - 1>(a, panel, sums);
  multiply_panel<kRows, kVecs>(a.k, a.data, a.stride, panel, sums);
}

template <typename T>
void multiply_rows(int64_t width, const RowsOfA<T>& a, const T* panel, float* sums) {
  if (width == 3 * kLanes) return multiply_rows<3>(a, panel, sums);
  if (width == 2 * kLanes) return multiply_rows<2>(a, panel, sums);
  multiply_rows<1>(a, panel, sums);
}

template <typename C>
struct BlockOfC {
  C* data;
  int64_t stride, rows, cols;
  const float* bias;  // bias of its columns, or nullptr
};

template <typename C>
void write(const float* sums, int64_t width, const BlockOfC<C>& block) {
  C* c = block.data;
  const float* const bias = block.bias;
  const int64_t cols = block.cols;
  for (int64_t i = 0; i < block.rows; ++i, sums += width, c += block.stride) {
    if (bias != nullptr) {
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) c[j] = from_float<C>(sums[j] + bias[j]);
    } else {
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) c[j] = from_float<C>(sums[j]);
    }
  }
}

template <typename T, typename C>
void multiply(const ops::Gemm& a) {
  const int64_t m = a.c.rows(), n = a.c.cols(), k = a.a.cols();
  const int64_t row_tasks = (m + kRowsOfTask - 1) / kRowsOfTask, num_panels = panels(n);
  const T* weight = a.b.inference.ptr<T>();
  const float* bias = a.bias.empty() ? nullptr : a.bias.ptr<float>();
#pragma omp parallel for collapse(2) schedule(static) if (m * n * k >= kWorthThreadsProduct)
  for (int64_t panel = 0; panel < num_panels; ++panel) {
    for (int64_t task = 0; task < row_tasks; ++task) {
      const int64_t col = panel * kPanelCols, width = width_of(panel, n);
      const int64_t end = std::min(m, (task + 1) * kRowsOfTask);
      for (int64_t row = task * kRowsOfTask; row < end; row += kRowsAtOnce) {
        alignas(64) float sums[kRowsAtOnce * kPanelCols];
        const int64_t rows = std::min(kRowsAtOnce, end - row);
        multiply_rows(width, RowsOfA<T>{a.a.ptr<T>() + row * a.a.row_stride, a.a.row_stride, rows, k}, weight + col * k,
                      sums);
        write(sums, width,
              BlockOfC<C>{.data = a.c.ptr<C>() + row * a.c.row_stride + col,
                          .stride = a.c.row_stride,
                          .rows = rows,
                          .cols = std::min(kPanelCols, n - col),
                          .bias = bias ? bias + col : nullptr});
      }
    }
  }
}

}  // namespace

int64_t weight_copy_numel(DType storage, int64_t k, int64_t n) {
  const bool has_product = storage == DType::f32 || (storage == DType::bf16 && multiplies_halves() && k % 2 == 0);
  return has_product ? k * round_up_to_lanes(n) : 0;
}

void pack_for_inference(const ops::Weight& weight) {
  const Tensor &w = weight.matrix, &packed = weight.inference;
  w.dtype == DType::bf16 ? pack(w, packed.ptr<BFloat16>()) : pack(w, packed.ptr<float>());
}

void multiply_by_weight(const ops::Gemm& a) {
  if (a.a.dtype == DType::f32) return multiply<float, float>(a);
#if defined(__AVX512BW__)
  a.c.dtype == DType::f32 ? multiply<BFloat16, float>(a) : multiply<BFloat16, BFloat16>(a);
#endif
}

}  // namespace weft::cpu

#else

#include <cassert>

namespace weft::cpu {

int64_t weight_copy_numel(DType, int64_t, int64_t) { return 0; }
void pack_for_inference(const ops::Weight&) {}
void multiply_by_weight(const ops::Gemm&) { assert(false); }

}  // namespace weft::cpu

#endif
