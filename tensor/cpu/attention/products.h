// tensor/cpu/attention/products.h: computes the matmuls of attention by one of two policies: f32 vectors for any
// storage, and AMX tiles for bf16. Forward and backward are templates over the policy.
//
// A matmul is c[m, n] = left[m, k] right[k, n]. The vector policy reads scores in place. The tile policy multiplies
// bf16 operands and sums in f32, so it rounds scores to bf16 before it multiplies them.
#pragma once

#include <type_traits>

#include "tensor/cpu/attention/attention.h"
#include "tensor/cpu/gemm/tile_product.h"

namespace weft::cpu {

// A block is the columns of one head in some rows of a tensor.
template <typename T>
struct Block {
  T* data;
  int64_t stride, rows, cols;

  Block(const Tensor& t, Rows of, int64_t col, int64_t size)
      : data(at<T>(t, of.begin, col)), stride(t.row_stride), rows(of.count()), cols(size) {}
};

template <typename Left, typename Right>
struct Factors {  // one block, packed for use as either operand
  Left left;
  Right right;
};

template <typename T>
struct VectorProducts {
  using Storage = T;
  using Factor = float;
  using Left = SmallA<false>;
  using Right = SmallB;
  static constexpr bool kTiles = false, kInPlace = std::is_same_v<T, float>;

  static int64_t round_up_rows(int64_t rows) { return rows; }
  static int64_t round_up_cols(int64_t cols) { return round_up_to_lanes(cols); }

  static Right transposed(Block<T> m, float* space) {
    const int64_t ld = round_up_to_lanes(m.rows);
    pack_transposed(m.data, m.stride, m.rows, m.cols, space, ld);
    return {space, ld};
  }
  static Right right(Block<T> m, float* space) { return padded(m.data, m.stride, m.rows, m.cols, space); }
  static Factors<Left, Right> both(Block<T> m, float* space, float* = nullptr) {
    const Right rows = right(m, space);
    return {{rows.data, rows.ld}, rows};
  }
  static Left left(Block<T> m, float* space) { return both(m, space).left; }
  static Left left(Scores s, float*) { return {s.data, s.ld}; }
  static SmallA<true> left_transposed(Scores s, float*) { return {s.data, s.ld}; }

  template <bool kTransposed>
  static void multiply(int64_t m, int64_t n, int64_t k, SmallA<kTransposed> a, Right b, SmallC c) {
    small_gemm(m, n, k, a, b, c);
  }
  static void round(const float* from, int64_t ld, Block<T> to) {
    for (int64_t r = 0; r < to.rows; ++r) {
#pragma omp simd
      for (int64_t c = 0; c < to.cols; ++c) to.data[r * to.stride + c] = from_float<T>(from[r * ld + c]);
    }
  }
};

#if defined(__AVX512BW__)

// REQUIRES: a TileConfig on the calling thread.
struct TileProducts {
  using Storage = BFloat16;
  using Factor = BFloat16;
  using Left = TileA;
  using Right = TileB;
  static constexpr bool kTiles = true, kInPlace = false;

  static int64_t round_up_rows(int64_t rows) { return round_up_to_halves(rows); }
  static int64_t round_up_cols(int64_t cols) { return round_up_to_halves(cols); }

  static Right transposed(Block<BFloat16> m, BFloat16* space) {
    pack_b_transposed(m.data, m.stride, m.rows, m.cols, space);
    return {space, round_up_to_halves(m.cols)};
  }
  static Right right(Block<BFloat16> m, BFloat16* space) {
    pack_b(m.data, m.stride, m.rows, m.cols, space);
    return {space, round_up_to_halves(m.rows)};
  }
  static Left left(Block<BFloat16> m, BFloat16* space) {
    pack_a(m.data, m.stride, m.rows, m.cols, space);
    return {space, round_up_to_halves(m.cols)};
  }
  static Factors<Left, Right> both(Block<BFloat16> m, BFloat16* left_space, BFloat16* right_space) {
    return {left(m, left_space), right(m, right_space)};
  }
  static Left left(Scores s, BFloat16* space) {
    round_rows(s.data, s.ld, s.rows, s.padded, space, s.ld);
    return {space, s.ld};
  }
  // Rows of the result have kQueryTile elements. An odd number of queries is padded with a row of 0.
  static Left left_transposed(Scores s, BFloat16* space) {
    static_assert(kQueryTile == kTileHalves);
    BFloat16* a = space;
    for (int64_t c = 0; c < s.keys; c += kLanes, a += kTileSize) {
      Vec pairs[kTileRows] = {};
      for (int64_t r = 0; r < s.rows; r += 2) {
        const float* from = s.data + r * s.ld + c;
        pairs[r / 2] = reinterpret_cast<Vec>(interleave_halves(round_to_halves(load(from), load(from + s.ld))));
      }
      store_transposed(pairs, a);
    }
    return {space, kQueryTile};
  }

  static void multiply(int64_t m, int64_t n, int64_t k, Left a, Right b, SmallC c) { tile_product(m, n, k, a, b, c); }
  static void round(const float* from, int64_t ld, Block<BFloat16> to) {
    round_rows(from, ld, to.rows, to.cols, to.data, to.stride);
  }
};

#else

using TileProducts = VectorProducts<BFloat16>;  // never used, because Runtime::tiles_for is false

#endif

// Calls f(Products) with the fastest policy for this storage.
template <typename F>
void for_products(const Runtime& run, DType storage, const F& f) {
  if (run.tiles_for(storage)) return f(TileProducts());
  for_storage(storage, [&](auto zero) { f(VectorProducts<decltype(zero)>()); });
}

// Hands out scratch memory, or only counts it if `memory` is nullptr. What the policy does not need is nullptr.
template <typename Products>
class Space {
 public:
  using Factor = typename Products::Factor;
  explicit Space(float* memory) : memory_(memory) {}

  float* floats(int64_t rows, int64_t cols) { return take<float>(rows, cols); }
  Factor* factor(int64_t rows, int64_t cols) { return take<Factor>(rows, cols); }
  Factor* tile_factor(int64_t rows, int64_t cols) { return Products::kTiles ? factor(rows, cols) : nullptr; }
  float* result(int64_t rows, int64_t cols) { return Products::kInPlace ? nullptr : floats(rows, cols); }
  size_t used() const { return used_; }  // floats

 private:
  template <typename E>
  E* take(int64_t rows, int64_t cols) {
    float* const piece = memory_ ? memory_ + used_ : nullptr;
    const auto elements = static_cast<size_t>(Products::round_up_rows(rows) * Products::round_up_cols(cols));
    used_ += elements * sizeof(E) / sizeof(float);
    return reinterpret_cast<E*>(piece);
  }

  float* memory_;
  size_t used_ = 0;
};

// Holds the f32 result of matmuls: the block of the tensor itself, or `space`, which finish() rounds into the block.
template <typename Products>
class Result {
 public:
  using T = typename Products::Storage;
  Result(Block<T> target, float* space) : data(space), ld(Products::round_up_cols(target.cols)), target_(target) {
    if constexpr (Products::kInPlace) data = target.data, ld = target.stride;
  }
  void zero_from(int64_t row) const {
    for (; row < target_.rows; ++row) std::fill_n(data + row * ld, target_.cols, 0.0f);
  }
  void finish() const {
    if constexpr (!Products::kInPlace) Products::round(data, ld, target_);
  }

  float* data;
  int64_t ld;

 private:
  const Block<T> target_;
};

}  // namespace weft::cpu
