// tensor/cpu/attention_tiles_backward.cpp: gradients of attention of one head of one sentence with AMX; the formulas
// are attention_backward.cpp's.
//
// Rows of scores go in pairs: rounded and interleaved they are, transposed, the first factor of the products that sum
// over queries.
#include "tensor/cpu/attention_tiles.h"

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

// The two halves of each lane apart.
Vec even_halves(HalfRow row) { return reinterpret_cast<Vec>(reinterpret_cast<Words32>(row) << 16); }
Vec odd_halves(HalfRow row) { return reinterpret_cast<Vec>(reinterpret_cast<Words32>(row) & 0xFFFF0000u); }

float dot(const BFloat16* a, const BFloat16* b, int64_t count) {
  Vec sums = {};
  for (int64_t c = 0; c < count; c += kTileHalves) {
    const HalfRow x = load_halves(a + c, count - c), y = load_halves(b + c, count - c);
    sums += even_halves(x) * even_halves(y) + odd_halves(x) * odd_halves(y);
  }
  return sum_of_lanes(sums);
}

struct ScoreRow {  // of a query
  const float *scores, *d_p, *factors;
  float lse, delta;
  int64_t visible;
};
struct ScoreGradients {
  Vec p, d_s;  // the dropped probabilities P M, and dS
};

ScoreGradients score_gradients(const ScoreRow& row, int64_t c, float scale) {
  const Vec p = exp_of_lanes(masked_scores(row.scores + c, row.visible - c, scale) - row.lse), d_p = load(row.d_p + c);
  if (!row.factors) return {p, scale * p * (d_p - row.delta)};
  const Vec factor = load(row.factors + c);
  return {p * factor, scale * p * (d_p * factor - row.delta)};
}

// Of two rows: their pairs to `p` and `d_s_pairs`, tile by tile, and dS by rows to
// `d_s` of row length ld. To `keys` all is written, where neither sees anything 0.
void pair_gradients(const ScoreRow& first, const ScoreRow& second, int64_t keys, float scale, BFloat16* p,
                    BFloat16* d_s_pairs, BFloat16* d_s, int64_t ld) {
  for (int64_t c = 0; c < keys; c += kLanes, p += kTileSize, d_s_pairs += kTileSize) {
    HalfRow p_rows = {}, d_s_rows = {};
    if (c < std::max(first.visible, second.visible)) {
      const ScoreGradients a = score_gradients(first, c, scale), b = score_gradients(second, c, scale);
      p_rows = round_to_halves(a.p, b.p);
      d_s_rows = round_to_halves(a.d_s, b.d_s);
    }
    store_halves(interleave_halves(p_rows), p);
    store_halves(interleave_halves(d_s_rows), d_s_pairs);
    const __m512i both = reinterpret_cast<__m512i>(d_s_rows);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(d_s + c), _mm512_maskz_extracti64x4_epi64(0xF, both, 0));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(d_s + ld + c), _mm512_maskz_extracti64x4_epi64(0xF, both, 1));
  }
}

// In place, of pairs of `rows` rows by tiles; the pairs that are missing are 0.
void transpose_pairs(BFloat16* tiles, int64_t rows, int64_t keys) {
  for (int64_t c = 0; c < keys; c += kLanes, tiles += kTileSize) {
    Vec block[kTileRows] = {};
    for (int64_t i = 0; i < (rows + 1) / 2; ++i) block[i] = reinterpret_cast<Vec>(load_halves(tiles + i * kTileHalves));
    store_transposed(block, tiles);
  }
}

// From scores and dY V^T of a tile of queries to (P M)^T, dS^T and dS.
void score_gradients(const ops::AttentionBackward& a, int64_t head, Rows q, Rows k, int64_t tile, int64_t rows,
                     const Workspace& s) {
  const int64_t size = a.q.cols() / a.heads, ld = round_up_to_halves(k.count());
  const int64_t keys = round_up_to_halves(visible_keys(a.causal, tile + rows - 1, k.count()));
  const bool dropping = a.dropout.rate > 0;
  if (dropping) fill_dropout(a, head, q, k, tile, rows, s.factors, ld);
  const auto row_of = [&](int64_t r) -> ScoreRow {
    const float *scores = s.scores + r * ld, *d_p = s.d_p + r * ld;
    // After an odd number of rows one without probabilities.
    if (r == rows) return {scores, d_p, nullptr, std::numeric_limits<float>::infinity(), 0, 0};
    const int64_t row = q.begin + tile + r, col = head * size;
    const float delta = dot(at<BFloat16>(a.d_y, row, col), at<BFloat16>(a.y, row, col), size);
    const int64_t visible = visible_keys(a.causal, tile + r, k.count());
    return {scores, d_p, dropping ? s.factors + r * ld : nullptr, *at(a.lse, head, row), delta, visible};
  };
  for (int64_t r = 0; r < rows; r += 2)
    pair_gradients(row_of(r), row_of(r + 1), keys, a.scale, s.p_transposed + r * kTileRows,
                   s.d_s_transposed + r * kTileRows, s.d_s + r * ld, ld);
  transpose_pairs(s.p_transposed, rows, keys);
  transpose_pairs(s.d_s_transposed, rows, keys);
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
  const TileConfig config;
  pack_b_transposed(at<BFloat16>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k_transposed);
  pack_b_transposed(at<BFloat16>(a.v, k.begin, col), a.v.row_stride, num_keys, size, s.v_transposed);
  pack_b(at<BFloat16>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k);
  const int64_t seen = visible_keys(a.causal, q.count() - 1, num_keys);

  for (int64_t tile = 0; tile < q.count(); tile += kQueryTile) {
    const int64_t rows = std::min(kQueryTile, q.count() - tile), first = q.begin + tile;
    const int64_t keys = visible_keys(a.causal, tile + rows - 1, num_keys);
    const BFloat16 *q_rows = at<BFloat16>(a.q, first, col), *d_y_rows = at<BFloat16>(a.d_y, first, col);
    pack_a(q_rows, a.q.row_stride, rows, size, s.q);
    pack_b(q_rows, a.q.row_stride, rows, size, s.q_pairs);
    pack_a(d_y_rows, a.d_y.row_stride, rows, size, s.d_y);
    pack_b(d_y_rows, a.d_y.row_stride, rows, size, s.d_y_pairs);
    tile_product(rows, keys, size, {s.q, ld_head}, {s.k_transposed, ld_head}, s.scores, ld_keys);
    tile_product(rows, keys, size, {s.d_y, ld_head}, {s.v_transposed, ld_head}, s.d_p, ld_keys);
    score_gradients(a, head, q, k, tile, rows, s);
    // The first tile of a causal sentence sees only the first keys: what it does not write, the next ones add to.
    const bool add = tile > 0;
    for (float* sum : {s.d_k, s.d_v}) {
      const int64_t written = round_up_to_tile(keys) * ld_head, all = round_up_to_tile(seen) * ld_head;
      if (!add) std::fill(sum + written, sum + std::max(written, all), 0.0f);
    }
    tile_product(keys, size, rows, {s.p_transposed, kQueryTile}, {s.d_y_pairs, kQueryTile}, s.d_v, ld_head, add);
    tile_product(keys, size, rows, {s.d_s_transposed, kQueryTile}, {s.q_pairs, kQueryTile}, s.d_k, ld_head, add);
    tile_product(rows, size, keys, {s.d_s, ld_keys}, {s.k, ld_keys}, s.d_q, ld_head);
    round_rows(s.d_q, ld_head, rows, size, nullptr, at<BFloat16>(a.d_q, first, col), a.d_q.row_stride);
  }
  round_rows(s.d_k, ld_head, seen, size, nullptr, at<BFloat16>(a.d_k, k.begin, col), a.d_k.row_stride);
  round_rows(s.d_v, ld_head, seen, size, nullptr, at<BFloat16>(a.d_v, k.begin, col), a.d_v.row_stride);
  zero_head<BFloat16>(a.d_k, {k.begin + seen, k.end}, col, size);
  zero_head<BFloat16>(a.d_v, {k.begin + seen, k.end}, col, size);
}

}  // namespace weft::cpu

#endif
