// tensor/cpu/attention/scores.cpp: computes the softmax of a tile's scores and its gradient, vectorized along the keys.
//
// A row's sum does not depend on the padding of its vectors, because lanes past the visible keys add 0.
#include <limits>

#include "tensor/cpu/attention/attention.h"
#include "tensor/cpu/dropout.h"
#include "tensor/elementary.h"

namespace weft::cpu {
namespace {

typedef int32_t Lanes __attribute__((vector_size(sizeof(Vec))));

template <size_t... kLane>
constexpr Lanes lane_numbers(std::index_sequence<kLane...>) {
  return Lanes{kLane...};
}
constexpr Lanes kLaneNumbers = lane_numbers(std::make_index_sequence<kLanes>());

Vec exp_of_lanes(Vec x) {
  Vec y;
#pragma omp simd
  for (int64_t i = 0; i < kLanes; ++i) y[i] = exp_of(x[i]);
  return y;
}

Vec larger(Vec a, Vec b) { return a > b ? a : b; }

float largest_lane(Vec v) {
#pragma GCC unroll 4
  for (int32_t distance = kLanes / 2; distance > 0; distance /= 2)
    v = larger(v, __builtin_shuffle(v, kLaneNumbers ^ distance));
  return v[0];
}

// Returns a vector of scaled scores, with minus infinity in the lanes past `visible`.
Vec masked_scores(const float* scores, int64_t visible, float scale) {
  const Vec nothing = Vec{} - std::numeric_limits<float>::infinity();
  return kLaneNumbers < static_cast<int32_t>(visible) ? scale * load(scores) : nothing;
}

// The first queries of a causal tile see fewer keys, so factors are computed for a few queries at a time.
template <typename Arguments>
void fill_factors(const Arguments& a, const QueryTile& tile, int64_t ld, float* factors) {
  const DropoutMask mask = a.dropout.mask();
  const int64_t strip = tile.causal ? kLanes : tile.count;
  for (int64_t i = 0; i < tile.count; i += strip) {
    const int64_t count = std::min(strip, tile.count - i), keys = round_up_to_lanes(tile.visible(i + count - 1));
    const uint64_t first = mask.index(tile.head * a.q.rows() + tile.row(i), tile.k.begin);
    DropoutBlock(mask).fill(first, count, keys, factors + i * ld, ld);
  }
}

struct SoftmaxSums {
  float max, sum;
};

SoftmaxSums softmax_row(float* scores, int64_t visible, float scale, const float* factors) {
  Vec largest = Vec{} - std::numeric_limits<float>::infinity();
  for (int64_t c = 0; c < visible; c += kLanes) {
    const Vec s = masked_scores(scores + c, visible - c, scale);
    largest = larger(s, largest);
    store(s, scores + c);
  }
  const float max = largest_lane(largest);
  PartialSums sums;
  for (int64_t c = 0; c < visible; c += kLanes) {
    const Vec exponentials = exp_of_lanes(load(scores + c) - max);
    sums.vecs[c / kLanes % kPartialVecs] += exponentials;
    store(exponentials, scores + c);
  }
  const float sum = sums.sum(), inverse = 1.0f / sum;
  for (int64_t c = 0; c < visible; c += kLanes) {
    const Vec p = inverse * load(scores + c);
    store(factors ? p * load(factors + c) : p, scores + c);
  }
  return {max, sum};
}

void fill_up(float* row, int64_t visible, int64_t padded) {
  std::fill(row + round_up_to_lanes(visible), row + padded, 0.0f);
}

}  // namespace

void softmax(const ops::AttentionForward& a, const QueryTile& tile, const Scores& scores, float* factors) {
  const bool dropping = a.dropout.rate > 0;
  const int64_t ld = scores.ld, padded = scores.padded;
  if (dropping) fill_factors(a, tile, ld, factors);
  SoftmaxSums sums[kQueryTile];
  float* row = scores.data;
  for (int64_t i = 0; i < tile.count; ++i, row += ld) {
    sums[i] = softmax_row(row, tile.visible(i), a.scale, dropping ? factors + i * ld : nullptr);
    fill_up(row, tile.visible(i), padded);
  }
  if (a.lse.empty()) return;
  float* lse = at(a.lse, tile.head, tile.row(0));
#pragma omp simd
  for (int64_t i = 0; i < tile.count; ++i) lse[i] = sums[i].max + log_of(sums[i].sum);
}

void score_gradients(const ops::AttentionBackward& a, const QueryTile& tile, const Scores& scores,
                     const Scores& d_scores, float* factors) {
  const bool dropping = a.dropout.rate > 0;
  const int64_t ld = scores.ld, padded = scores.padded;
  if (dropping) fill_factors(a, tile, ld, factors);
  const int64_t size = a.q.cols() / a.heads, col = tile.head * size;
  float *p = scores.data, *d_p = d_scores.data;
  for (int64_t i = 0; i < tile.count; ++i, p += ld, d_p += ld, factors += ld) {
    const int64_t visible = tile.visible(i), row = tile.row(i);
    const float lse = *at(a.lse, tile.head, row),
                delta = for_storage(a.y.dtype, [&](auto zero) {
                  using T = decltype(zero);
                  return products_of(at<T>(a.d_y, row, col), at<T>(a.y, row, col), size).sum();
                });
    for (int64_t c = 0; c < visible; c += kLanes) {
      const Vec probabilities = exp_of_lanes(masked_scores(p + c, visible - c, a.scale) - lse);
      const Vec kept = dropping ? load(factors + c) : Vec{} + 1.0f;
      store(a.scale * probabilities * (load(d_p + c) * kept - delta), d_p + c);
      store(probabilities * kept, p + c);
    }
    fill_up(p, visible, padded);
    fill_up(d_p, visible, padded);
  }
}

}  // namespace weft::cpu
