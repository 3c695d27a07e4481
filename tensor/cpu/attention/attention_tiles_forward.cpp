// tensor/cpu/attention/attention_tiles_forward.cpp: forward attention of one head of one sentence with AMX.
#include "tensor/cpu/attention/attention_tiles.h"

#if defined(__AVX512BW__)

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
  pack_b_transposed(at<BFloat16>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k_transposed);
  pack_b(at<BFloat16>(a.v, k.begin, col), a.v.row_stride, num_keys, size, s.v);

  for_each_tile(head, q, k, a.causal, [&](const QueryTile& tile) {
    const int64_t rows = tile.count, first = tile.row(0), keys = tile.keys(), padded_keys = round_up_to_halves(keys);
    pack_a(at<BFloat16>(a.q, first, col), a.q.row_stride, rows, size, s.q);
    tile_product(rows, keys, size, {s.q, ld_head}, {s.k_transposed, ld_head}, s.scores, ld_keys);
    softmax(a, tile, {ld_keys, padded_keys, s.factors}, s.scores);
    round_rows(s.scores, ld_keys, rows, padded_keys, s.p, ld_keys);
    tile_product(rows, size, keys, {s.p, ld_keys}, {s.v, ld_keys}, s.y, ld_head);
    round_rows(s.y, ld_head, rows, size, at<BFloat16>(a.y, first, col), a.y.row_stride);
  });
}

}  // namespace weft::cpu

#endif
