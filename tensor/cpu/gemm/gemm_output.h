// tensor/cpu/gemm/gemm_output.h: writes a finished block of c: adds the bias and, if required, the old values, and
// rounds if c is bf16. A few rows at a time are written between the multiplications of the next block.
#pragma once

#include <algorithm>

#include "tensor/cpu/gemm/gemm_panels.h"
#include "tensor/cpu/streaming.h"
#include "tensor/ops.h"

#if defined(__AVX512BW__)

namespace weft::cpu {

inline constexpr int64_t kTileSums = kTileRows * kTileFloats;  // f32 sums of a tile
inline constexpr int64_t kBlockSums = 4 * kTileSums;           // a 32 x 32 block of c: four tiles, row by row

class BlockOutput {
 public:
  explicit BlockOutput(const ops::Gemm& a)
      : a_(a), streams_(a.c.dtype == DType::bf16 && !a.accumulate && worth_streaming(a.c)) {}
  ~BlockOutput() { stream_fence(); }
  BlockOutput(const BlockOutput&) = delete;
  BlockOutput& operator=(const BlockOutput&) = delete;

  void begin(const float* sums, int64_t row, int64_t col) {  // starts the block of c at (row, col)
    sums_ = sums, row_ = row, col_ = col, done_ = 0;
    rows_ = std::min(kPanel, a_.c.rows() - row), cols_ = std::min(kPanel, a_.c.cols() - col);
  }
  void write(int64_t count) {  // writes up to `count` more rows
    const int64_t end = std::min(done_ + count, rows_);
    if (done_ < end) a_.c.dtype == DType::bf16 ? write_rows<BFloat16>(end) : write_rows<float>(end);
    done_ = end;
  }
  void finish() { write(kPanel); }

  // Prefetches the old values that rows [begin, end) of the block at (row, col) will add.
  void fetch(int64_t row, int64_t col, int64_t begin, int64_t end) const {
    if (!a_.accumulate) return;
    const int64_t size = static_cast<int64_t>(size_of(a_.c.dtype));
    for (int64_t r = row + begin; r < std::min(row + end, a_.c.rows()); ++r)
      for (int64_t byte = 0; byte < kPanel * size; byte += kCacheLine)
        __builtin_prefetch(static_cast<const char*>(a_.c.data) + (r * a_.c.row_stride + col) * size + byte, 1);
  }

 private:
  template <typename C>
  void write_rows(int64_t end) {
    const int64_t left_cols = std::min(cols_, kLanes), right_cols = cols_ - left_cols;
    const float* bias = a_.bias.empty() ? nullptr : a_.bias.ptr<float>() + col_;
    const Vec left_bias = bias ? load(bias, left_cols) : Vec{},
              right_bias = bias ? load(bias + kLanes, right_cols) : Vec{};
    C* c = a_.c.ptr<C>() + (row_ + done_) * a_.c.row_stride + col_;
    for (int64_t i = done_; i < end; ++i, c += a_.c.row_stride) {
      const float* sums = sums_ + i / kTileRows * 2 * kTileSums + i % kTileRows * kTileFloats;
      Vec left = load(sums) + left_bias, right = load(sums + kTileSums) + right_bias;
      if (a_.accumulate) left += load(c, left_cols), right += load(c + kLanes, right_cols);
      if constexpr (std::is_same_v<C, BFloat16>) {
        const HalfRow halves = round_to_halves(left, right);
        if (streams_ && cols_ == kPanel && begins_line(c))
          stream_line(c, &halves);
        else
          store_halves(halves, c, cols_);
      } else {
        store(left, c, left_cols);
        store(right, c + kLanes, right_cols);
      }
    }
  }

  const ops::Gemm& a_;
  const bool streams_;
  const float* sums_ = nullptr;
  int64_t row_ = 0, col_ = 0, rows_ = 0, cols_ = 0, done_ = 0;
};

}  // namespace weft::cpu

#endif
