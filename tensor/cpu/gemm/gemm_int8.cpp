// tensor/cpu/gemm/gemm_int8.cpp: packs int8 weights, rounds activations, and multiplies with the kernel of the
// processor.
#include "tensor/cpu/gemm/gemm_int8.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/gemm/int8_instructions.h"
#include "tensor/cpu/runtime.h"
#include "tensor/elementary.h"
#include "tensor/op/quantize.h"

namespace weft::cpu {

namespace {

constexpr int64_t kRowsOfTask = 64;      // rows multiplied while a panel is in the L1 or L2 cache
constexpr float kActivationSteps = 126;  // from the lowest to the highest value of a row, so that neither is above 127

int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

std::vector<Int8Kernel> kernels_of_this_processor() {
  std::vector<Int8Kernel> kernels;
#if defined(__AVX512BW__)
  if (has_amx_int8()) kernels.push_back(int8_tile_kernel_of<AmxTiles>("AMX"));
  if (__builtin_cpu_supports("avx512vnni")) kernels.push_back(int8_kernel_of<QuadInstructions>("AVX-512 VNNI"));
  kernels.push_back(int8_kernel_of<PairInstructions>("AVX-512"));
#elif defined(__AVX2__)
  if (has_avx_vnni()) kernels.push_back(int8_kernel_of<QuadInstructions>("AVX-VNNI"));
  kernels.push_back(int8_kernel_of<PairInstructions>("AVX2"));
#elif defined(__SSE4_1__)
  kernels.push_back(int8_kernel_of<PairInstructions>("SSE4.1"));
#else
  kernels.push_back(int8_kernel_of<PortableInstructions<4, false> >("loops"));
#endif
  return kernels;
}

// Returns where a part of `memory` begins, or nullptr if only sizes are needed.
template <typename T>
T* part(void* memory, int64_t offset) {
  return memory ? reinterpret_cast<T*>(static_cast<char*>(memory) + offset) : nullptr;
}

// The parts of a copy. Each begins at a multiple of 64 bytes if the copy does.
struct Int8Copy {
  float* scales;         // [n]
  int32_t* column_sums;  // [n], of the rounded weights
  int8_t* panels;
  int64_t bytes;

  Int8Copy(const Int8Kernel& kernel, int64_t k, int64_t n, void* copy) {
    const int64_t cols = round_up(n, kernel.col_step), of_columns = round_up(cols * 4, 64);
    scales = part<float>(copy, 0);
    column_sums = part<int32_t>(copy, of_columns);
    panels = part<int8_t>(copy, 2 * of_columns);
    bytes = round_up(2 * of_columns + cols * round_up(k, kInt8DepthStep), 64);
  }
};

// The bytes of a panel's column `col` are written with the groups of its columns between them.
void pack_column(const int8_t* q, int64_t depth, int64_t width, int8_t* to) {
  for (int64_t d = 0; d < depth; ++d) to[d / kInt8Group * width * kInt8Group + d % kInt8Group] = q[d];
}

struct Int8Activations {
  uint8_t* rows;
  float* scales;
  int32_t* zeros;  // what 0 is rounded to
  int64_t stride;
  size_t bytes;

  Int8Activations(const Int8Kernel& kernel, int64_t m, int64_t k, void* memory)
      : rows(part<uint8_t>(memory, 0)), stride(round_up(k, kInt8DepthStep)) {
    const int64_t of_rows = round_up(m, kernel.rows) * stride, of_scales = round_up(m * 4, 64);
    scales = part<float>(memory, of_rows);
    zeros = part<int32_t>(memory, of_rows + of_scales);
    bytes = static_cast<size_t>(of_rows + 2 * of_scales);
  }
};

// Adds 1.5 * 2^23, which leaves the nearest integer in the low bits of the sum, ties to even.
int32_t nearest(float x) { return static_cast<int32_t>(bits_from_float(x + 12582912.0f) - 0x4B400000u); }

void round_row(const float* x, int64_t count, const Int8Activations& to, int64_t row) {
  float lowest = 0, highest = 0;
  uint32_t bits = 0;  // larger than those of infinity if a value is NaN
#pragma omp simd reduction(min : lowest) reduction(max : highest, bits)
  for (int64_t c = 0; c < count; ++c) {
    lowest = x[c] < lowest ? x[c] : lowest;
    highest = x[c] > highest ? x[c] : highest;
    const uint32_t magnitude = bits_from_float(x[c]) & 0x7FFFFFFFu;
    bits = magnitude > bits ? magnitude : bits;
  }
  const float range = highest - lowest;
  const bool is_finite = bits <= bits_from_float(std::numeric_limits<float>::max());
  const bool is_rounded = is_finite && bits >= bits_from_float(kLeastInt8Row);
  const float inverse = is_rounded ? kActivationSteps / range : 0.0f;
  const int32_t zero = is_rounded ? nearest(-lowest * inverse) : 0;
  to.scales[row] = is_rounded ? range / kActivationSteps : is_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  to.zeros[row] = zero;
  uint8_t* q = to.rows + row * to.stride;
#pragma omp simd
  for (int64_t c = 0; c < count; ++c) q[c] = static_cast<uint8_t>((nearest(x[c] * inverse) + zero) & kInt8Max);
  std::fill(q + count, q + to.stride, uint8_t{0});
}

struct Int8Block {  // of y
  float* y;
  int64_t stride, rows, cols;
  const float *row_scales, *scales, *bias;
  const int32_t *row_zeros, *column_sums;
};

template <bool kBiased>
void finish(const Int8Block& block, const int32_t* sums, int64_t width) {
  for (int64_t i = 0; i < block.rows; ++i, sums += width) {
    const float scale = block.row_scales[i];
    const int32_t zero = block.row_zeros[i];
    float* y = block.y + i * block.stride;
#pragma omp simd
    for (int64_t j = 0; j < block.cols; ++j) {
      const float product = static_cast<float>(sums[j] - zero * block.column_sums[j]) * (scale * block.scales[j]);
      y[j] = kBiased ? product + block.bias[j] : product;
    }
  }
}

void multiply_task(const Int8Kernel& kernel, const ops::Gemm& a, const Int8Activations& x, int64_t panel,
                   int64_t first_row) {
  const int64_t m = a.c.rows(), n = a.c.cols(), col = panel * kernel.cols;
  const int64_t width = std::min(kernel.cols, round_up(n, kernel.col_step) - col);
  const Int8Copy copy(kernel, a.a.cols(), n, a.b.inference.data);
  const int64_t end = std::min(m, first_row + kRowsOfTask);
  alignas(64) int32_t sums[kMostInt8Sums];
  for (int64_t row = first_row; row < end; row += kernel.rows) {
    const int64_t rows = std::min(kernel.rows, end - row);
    kernel.multiply({x.rows + row * x.stride, x.stride, rows, x.stride}, copy.panels + col * x.stride, width, sums);
    const Int8Block block{.y = a.c.ptr<float>() + row * a.c.row_stride + col,
                          .stride = a.c.row_stride,
                          .rows = rows,
                          .cols = std::min(kernel.cols, n - col),
                          .row_scales = x.scales + row,
                          .scales = copy.scales + col,
                          .bias = a.bias.empty() ? nullptr : a.bias.ptr<float>() + col,
                          .row_zeros = x.zeros + row,
                          .column_sums = copy.column_sums + col};
    block.bias ? finish<true>(block, sums, width) : finish<false>(block, sums, width);
  }
}

}  // namespace

std::span<const Int8Kernel> int8_kernels() {
  static const std::vector<Int8Kernel> kernels = kernels_of_this_processor();
  return kernels;
}

int64_t int8_copy_bytes(const Int8Kernel& kernel, int64_t k, int64_t n) {
  return Int8Copy(kernel, k, n, nullptr).bytes;
}

void pack_int8(const Int8Kernel& kernel, const Tensor& w, void* to) {
  const int64_t n = w.rows(), k = w.cols(), depth = round_up(k, kInt8DepthStep);
  const Int8Copy copy(kernel, k, n, to);
  const int64_t cols = round_up(n, kernel.col_step);
#pragma omp parallel if (w.numel() >= kWorthThreads)
  {
    std::vector<int8_t> q(static_cast<size_t>(depth));
#pragma omp for schedule(static)
    for (int64_t col = 0; col < cols; ++col) {
      const int64_t panel = col / kernel.cols * kernel.cols, width = std::min(kernel.cols, cols - panel);
      std::ranges::fill(q, int8_t{0});
      copy.scales[col] = col < n ? quantize_row(w.ptr<float>() + col * w.row_stride, k, q.data()) : 0.0f;
      copy.column_sums[col] = std::accumulate(q.begin(), q.end(), 0);
      pack_column(q.data(), depth, width, copy.panels + panel * depth + (col - panel) * kInt8Group);
    }
  }
}

size_t int8_scratch_bytes(const Int8Kernel& kernel, const ops::Gemm& a) {
  return Int8Activations(kernel, a.c.rows(), a.a.cols(), nullptr).bytes;
}

void gemm_int8(const Int8Kernel& kernel, const ops::Gemm& a, void* scratch) {
  const int64_t m = a.c.rows(), n = a.c.cols(), k = a.a.cols();
  const Int8Activations x(kernel, m, k, scratch);
  const int64_t tasks = (m + kRowsOfTask - 1) / kRowsOfTask, panels = (n + kernel.cols - 1) / kernel.cols;
#pragma omp parallel if (m * n * k >= kWorthThreadsProduct)
  {
#pragma omp for schedule(static)
    for (int64_t row = 0; row < m; ++row) round_row(a.a.ptr<float>() + row * a.a.row_stride, k, x, row);
    const TileConfig tiles(kernel.uses_tiles);
#pragma omp for collapse(2) schedule(static)
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t task = 0; task < tasks; ++task) multiply_task(kernel, a, x, panel, task * kRowsOfTask);
  }
}

}  // namespace weft::cpu
