// tensor/cpu/attention/attention_tiles_backward.cpp: gradients of attention of one head of one sentence with AMX; the
// formulas are attention_backward.cpp's.
#include "tensor/cpu/attention/attention_tiles.h"

#if defined(__AVX512BW__)

namespace weft::cpu {
namespace {

struct Workspace {
  BFloat16 *k_transposed, *v_transposed, *k, *q, *d_y, *q_pairs, *d_y_pairs, *p_transposed, *d_s_transposed, *d_s;
  float *scores, *d_p, *factors, *d_q, *d_k, *d_v;
  Workspace(Pieces& pieces, int64_t keys, int64_t head) {
    for (BFloat16** matrix : {&k_transposed, &v_transposed, &k}) *matrix = pieces.halves(keys, head);
    for (BFloat16** matrix : {&q, &d_y, &q_pairs, &d_y_pairs}) *matrix = pieces.halves(kQueryTile, head);
    for (BFloat16** matrix : {&p_transposed, &d_s_transposed, &d_s}) *matrix = pieces.halves(kQueryTile, keys);
    for (float** matrix : {&scores, &d_p, &factors}) *matrix = pieces.floats(kQueryTile, keys);
    d_q = pieces.floats(kQueryTile, head);
    for (float** matrix : {&d_k, &d_v}) *matrix = pieces.floats(keys, head);
  }
};

// The transpose of in[rows, keys], as the first factor of a product that sums over a tile's queries: rows of
// kQueryTile. After an odd number of rows comes that of a query filled up with 0.
void round_transposed(const float* in, int64_t ld, int64_t rows, int64_t keys, BFloat16* a) {
  for (int64_t c = 0; c < keys; c += kLanes, a += kTileSize) {
    Vec pairs[kTileRows] = {};
    for (int64_t r = 0; r < rows; r += 2) {
      const float* from = in + r * ld + c;
      const HalfRow both = round_to_halves(load(from), load(from + ld));
      pairs[r / 2] = reinterpret_cast<Vec>(interleave_halves(both));
    }
    store_transposed(pairs, a);
  }
}

}  // namespace

size_t backward_tiles_scratch(int64_t keys, int64_t head_size) {
  Pieces pieces;
  Workspace(pieces, keys, head_size);
  return pieces.used();
}

void backward_head_tiles(const ops::AttentionBackward& a, int64_t head, Rows q, Rows k, float* memory) {
  const int64_t size = a.q.cols() / a.heads, col = head * size, num_keys = k.count();
  const int64_t ld_keys = round_up_to_halves(num_keys), ld_head = round_up_to_halves(size);
  Pieces pieces(memory);
  const Workspace s(pieces, num_keys, size);
  pack_b_transposed(at<BFloat16>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k_transposed);
  pack_b_transposed(at<BFloat16>(a.v, k.begin, col), a.v.row_stride, num_keys, size, s.v_transposed);
  pack_b(at<BFloat16>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k);
  const int64_t seen = visible_keys(a.causal, q.count() - 1, num_keys);

  for_each_tile(head, q, k, a.causal, [&](const QueryTile& tile) {
    const int64_t rows = tile.count, first = tile.row(0), keys = tile.keys(), padded_keys = round_up_to_halves(keys);
    const BFloat16 *q_rows = at<BFloat16>(a.q, first, col), *d_y_rows = at<BFloat16>(a.d_y, first, col);
    pack_a(q_rows, a.q.row_stride, rows, size, s.q);
    pack_b(q_rows, a.q.row_stride, rows, size, s.q_pairs);
    pack_a(d_y_rows, a.d_y.row_stride, rows, size, s.d_y);
    pack_b(d_y_rows, a.d_y.row_stride, rows, size, s.d_y_pairs);
    tile_product(rows, keys, size, {s.q, ld_head}, {s.k_transposed, ld_head}, s.scores, ld_keys);
    tile_product(rows, keys, size, {s.d_y, ld_head}, {s.v_transposed, ld_head}, s.d_p, ld_keys);
    score_gradients(a, tile, {ld_keys, padded_keys, s.factors}, s.scores, s.d_p);
    round_transposed(s.scores, ld_keys, rows, keys, s.p_transposed);
    round_transposed(s.d_p, ld_keys, rows, keys, s.d_s_transposed);
    round_rows(s.d_p, ld_keys, rows, padded_keys, s.d_s, ld_keys);
    // The first tile of a causal sentence sees only the first keys: what it does not write, the next ones add to.
    const bool add = tile.begin > 0;
    for (float* sum : {s.d_k, s.d_v}) {
      const int64_t written = round_up_to_tile(keys) * ld_head, all = round_up_to_tile(seen) * ld_head;
      if (!add) std::fill(sum + written, sum + all, 0.0f);
    }
    tile_product(keys, size, rows, {s.p_transposed, kQueryTile}, {s.d_y_pairs, kQueryTile}, s.d_v, ld_head, add);
    tile_product(keys, size, rows, {s.d_s_transposed, kQueryTile}, {s.q_pairs, kQueryTile}, s.d_k, ld_head, add);
    tile_product(rows, size, keys, {s.d_s, ld_keys}, {s.k, ld_keys}, s.d_q, ld_head);
    round_rows(s.d_q, ld_head, rows, size, at<BFloat16>(a.d_q, first, col), a.d_q.row_stride);
  });
  round_rows(s.d_k, ld_head, seen, size, at<BFloat16>(a.d_k, k.begin, col), a.d_k.row_stride);
  round_rows(s.d_v, ld_head, seen, size, at<BFloat16>(a.d_v, k.begin, col), a.d_v.row_stride);
  zero_head<BFloat16>(a.d_k, {k.begin + seen, k.end}, col, size);
  zero_head<BFloat16>(a.d_v, {k.begin + seen, k.end}, col, size);
}

}  // namespace weft::cpu

#endif
