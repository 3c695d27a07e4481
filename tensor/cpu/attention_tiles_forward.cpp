// tensor/cpu/attention_tiles_forward.cpp: forward attention of one head of one sentence with AMX.
#include "tensor/cpu/attention_tiles.h"

#if defined(__AVX512BW__)

#include <cmath>

namespace weft::cpu {
namespace {

struct Workspace {
  BFloat16 *k_transposed, *v, *q, *p;
  float *scores, *factors, *y;
  Workspace(Pieces& pieces, int64_t keys, int64_t head) {
    k_transposed = pieces.halves(keys, head);
    v = pieces.halves(keys, head);
    q = pieces.halves(kQueryTile, head);
    p = pieces.halves(kQueryTile, keys);
    scores = pieces.floats(kQueryTile, keys);
    factors = pieces.floats(kQueryTile, keys);
    y = pieces.floats(kQueryTile, head);
  }
};

struct SoftmaxRow {
  float max, sum;
};

// From scores the exponentials of a row, less its largest, times their dropout factors; 0 from `visible` on to `keys`.
SoftmaxRow softmax_row(const float* scores, int64_t visible, int64_t keys, float scale, const float* factors,
                       BFloat16* p) {
  Vec largest = masked_scores(scores, visible, scale);
  for (int64_t c = kLanes; c < visible; c += kLanes)
    largest = larger(largest, masked_scores(scores + c, visible - c, scale));
  const float max = reduce_lanes(largest, larger);
  Vec sums = {};
  const auto weights = [&](int64_t c) {
    if (c >= visible) return Vec{};
    const Vec exponentials = exp_of_lanes(masked_scores(scores + c, visible - c, scale) - max);
    sums += exponentials;
    return factors ? exponentials * load(factors + c) : exponentials;
  };
  for (int64_t c = 0; c < keys; c += kTileHalves) {
    const Vec low = weights(c), high = weights(c + kLanes);
    store_halves(round_to_halves(low, high), p + c);
  }
  return {max, sum_of_lanes(sums)};
}

}  // namespace

size_t forward_tiles_scratch(int64_t keys, int64_t head_size) {
  Pieces pieces;
  Workspace(pieces, keys, head_size);
  return pieces.used();
}

void forward_head_tiles(const ops::AttentionForward& a, int64_t head, Rows q, Rows k, float* memory) {
  const int64_t size = a.q.cols() / a.heads, col = head * size, num_keys = k.count();
  const int64_t ld_keys = round_up_to_halves(num_keys), ld_head = round_up_to_halves(size);
  Pieces pieces(memory);
  const Workspace s(pieces, num_keys, size);
  const TileConfig config;
  pack_b_transposed(at<BFloat16>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k_transposed);
  pack_b(at<BFloat16>(a.v, k.begin, col), a.v.row_stride, num_keys, size, s.v);

  for (int64_t tile = 0; tile < q.count(); tile += kQueryTile) {
    const int64_t rows = std::min(kQueryTile, q.count() - tile), first = q.begin + tile;
    const int64_t keys = visible_keys(a.causal, tile + rows - 1, num_keys);
    pack_a(at<BFloat16>(a.q, first, col), a.q.row_stride, rows, size, s.q);
    tile_product(rows, keys, size, {s.q, ld_head}, {s.k_transposed, ld_head}, s.scores, ld_keys);
    const bool dropping = a.dropout.rate > 0;
    if (dropping) fill_dropout(a, head, q, k, tile, rows, s.factors, ld_keys);
    float inverse_sums[kQueryTile];
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t visible = visible_keys(a.causal, tile + r, num_keys);
      const SoftmaxRow row = softmax_row(s.scores + r * ld_keys, visible, round_up_to_halves(keys), a.scale,
                                         dropping ? s.factors + r * ld_keys : nullptr, s.p + r * ld_keys);
      inverse_sums[r] = 1.0f / row.sum;
      if (!a.lse.empty()) *at(a.lse, head, first + r) = row.max + std::log(row.sum);
    }
    tile_product(rows, size, keys, {s.p, ld_keys}, {s.v, ld_keys}, s.y, ld_head);
    round_rows(s.y, ld_head, rows, size, inverse_sums, at<BFloat16>(a.y, first, col), a.y.row_stride);
  }
}

}  // namespace weft::cpu

#endif
