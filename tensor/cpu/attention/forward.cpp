// tensor/cpu/attention/forward.cpp: computes forward attention. A task computes one sentence for the query heads that
// share a head of k and v. No other task writes these outputs.
#include <limits>

#include "tensor/cpu/attention/products.h"

namespace weft::cpu {

void zero_uncovered(Runtime& runtime, const ops::SequenceRanges& ranges, const Tensor& t, const Tensor& per_row) {
  std::vector<uint8_t>& covered = runtime.marks;
  covered.assign(static_cast<size_t>(t.rows()), 0);
  for (int64_t i = 0; i < ranges.begin.numel(); ++i) {
    const Rows rows = rows_of(ranges, i);
    if (rows.count() > 0) std::fill(covered.begin() + rows.begin, covered.begin() + rows.end, uint8_t{1});
  }
  for (int64_t r = 0; r < t.rows(); ++r) {
    if (covered[static_cast<size_t>(r)]) continue;
    for_storage(t.dtype, [&](auto zero) { std::fill_n(at<decltype(zero)>(t, r, 0), t.cols(), zero); });
    if (per_row.empty()) continue;
    for (int64_t n = 0; n < per_row.rows(); ++n) *at(per_row, n, r) = 0.0f;
  }
}

namespace {

template <typename Products>
struct Workspace : Space<Products> {
  typename Products::Factor *k_transposed, *v, *q, *p;
  float *scores, *factors, *y;

  Workspace(float* memory, int64_t keys, int64_t size) : Space<Products>(memory) {
    k_transposed = this->factor(size, keys);
    v = this->factor(keys, size);
    q = this->factor(kQueryTile, size);
    p = this->tile_factor(kQueryTile, keys);
    scores = this->floats(kQueryTile, keys);
    factors = this->floats(kQueryTile, keys);
    y = this->result(kQueryTile, size);
  }
};

template <typename Products>
void forward_group(const ops::AttentionForward& a, HeadGroup heads, Rows q, Rows k, float* memory) {
  using T = typename Products::Storage;
  const int64_t size = a.q.cols() / a.heads, k_col = heads.kv_head * size, ld = Products::round_up_cols(k.count());
  const Workspace<Products> s(memory, k.count(), size);
  const auto k_transposed = Products::transposed(Block<T>(a.k, k, k_col, size), s.k_transposed);
  const auto v = Products::right(Block<T>(a.v, k, k_col, size), s.v);

  for_each_tile(heads, q, k, a.causal, [&](const QueryTile& tile) {
    const int64_t rows = tile.count, keys = tile.keys(), col = tile.head * size;
    const Scores scores{s.scores, ld, rows, keys, Products::round_up_cols(keys)};
    const auto queries = Products::left(Block<T>(a.q, tile.rows(), col, size), s.q);
    Products::multiply(rows, round_up_to_lanes(keys), size, queries, k_transposed, {scores.data, ld});
    softmax(a, tile, scores, s.factors);
    const Result<Products> y(Block<T>(a.y, tile.rows(), col, size), s.y);
    Products::multiply(rows, size, keys, Products::left(scores, s.p), v, {y.data, y.ld});
    y.finish();
  });
}

// Returns the scores of one query against `count` <= kLanes keys. A vector runs along the columns of a key, so that
// keys need not be transposed. At the end, the lanes of each key are added.
template <typename T>
Vec scores_of(const T* query, const T* key, int64_t stride, int64_t count, int64_t size) {
  Vec lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = products_of(query, key + i * stride, size).pairs();
  transpose_block(lanes);
  for (int64_t distance = kLanes / 2; distance > 0; distance /= 2)
    for (int64_t i = 0; i < distance; ++i) lanes[i] += lanes[i + distance];
  return lanes[0];
}

// Computes kVecs vectors of the sum of values weighted by `p`. The last vector is `tail` columns wide.
template <int kVecs, typename T>
void weighted_sum(const float* p, const T* value, int64_t stride, int64_t keys, int64_t tail, T* y) {
  Vec sums[kVecs] = {};
  for (int64_t i = 0; i < keys; ++i, value += stride)
    for (int v = 0; v < kVecs; ++v) sums[v] += p[i] * load(value + v * kLanes, v + 1 < kVecs ? kLanes : tail);
  float lanes[kVecs * kLanes];
  for (int v = 0; v < kVecs; ++v) store(sums[v], lanes + v * kLanes);
  const int64_t cols = (kVecs - 1) * kLanes + tail;
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c) y[c] = from_float<T>(lanes[c]);
}

// Handles one query without dropout, as in decoding. Keys and values are read in place, and only once.
template <typename T>
void forward_one_query(const ops::AttentionForward& a, HeadGroup heads, Rows q, Rows k, float* memory) {
  const int64_t size = a.q.cols() / a.heads, keys = k.count(), padded = round_up_to_lanes(keys);
  const T* key = at<T>(a.k, k.begin, heads.kv_head * size);
  const T* value = at<T>(a.v, k.begin, heads.kv_head * size);
  for (int64_t head = heads.first; head < heads.last; ++head) {
    const T* query = at<T>(a.q, q.begin, head * size);
    for (int64_t i = 0; i < keys; i += kLanes)
      store(scores_of(query, key + i * a.k.row_stride, a.k.row_stride, std::min(kLanes, keys - i), size), memory + i);
    softmax(a, QueryTile{head, q, k, 0, 1, a.causal}, Scores{memory, padded, 1, keys, padded}, nullptr);
    T* y = at<T>(a.y, q.begin, head * size);
    for (int64_t c = 0; c < size; c += 4 * kLanes) {
      const int64_t cols = std::min(size - c, 4 * kLanes), vecs = (cols + kLanes - 1) / kLanes;
      const int64_t tail = cols - (vecs - 1) * kLanes;
      const auto sum = vecs == 4   ? weighted_sum<4, T>
                       : vecs == 3 ? weighted_sum<3, T>
                       : vecs == 2 ? weighted_sum<2, T>
                                   : weighted_sum<1, T>;
      sum(memory, value + c, a.v.row_stride, keys, tail, y + c);
    }
  }
}

template <typename T>
void forward_without_keys(const ops::AttentionForward& a, HeadGroup heads, Rows q) {
  const int64_t size = a.q.cols() / a.heads;
  zero_columns<T>(a.y, q, heads.first * size, heads.last * size);
  if (a.lse.empty()) return;
  for (int64_t head = heads.first; head < heads.last; ++head)
    std::fill_n(at(a.lse, head, q.begin), q.count(), -std::numeric_limits<float>::infinity());
}

}  // namespace

void measure(Context& ctx, const ops::AttentionForward& a) {
  for_products(runtime(ctx), a.y.dtype, [&](auto products) {
    const Workspace<decltype(products)> space(nullptr, longest(a.k_rows, a.k), a.q.cols() / a.heads);
    runtime(ctx).reserve_scratch(omp_get_max_threads(), space.used());
  });
}

void attention_forward(Context& ctx, const ops::AttentionForward& a) {
  measure(ctx, a);
  Runtime& run = runtime(ctx);
  zero_uncovered(run, a.q_rows, a.y, a.lse);
  for_products(run, a.y.dtype, [&](auto products) {
    using Products = decltype(products);
    for_each_group(run, a, [&](HeadGroup heads, Rows q, Rows k, float* scratch) {
      if constexpr (!Products::kTiles)
        if (q.count() == 1 && k.count() > 0 && !a.causal && a.dropout.rate <= 0)
          return forward_one_query<typename Products::Storage>(a, heads, q, k, scratch);
      if (k.count() > 0) return forward_group<Products>(a, heads, q, k, scratch);
      forward_without_keys<typename Products::Storage>(a, heads, q);
    });
  });
}

}  // namespace weft::cpu
