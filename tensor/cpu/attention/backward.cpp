// tensor/cpu/attention/backward.cpp: computes attention gradients, and recomputes probabilities from the saved lse.
//
// With P the probabilities, M the dropout factors, dP = dY V^T, and * elementwise:  dV = (P * M)^T dY,
// dS = scale P * (dP * M - rowsum(dY * Y)),  dQ = dS K,  dK = dS^T Q. dK and dV are summed over a group's heads in f32.
#include "tensor/cpu/attention/products.h"

namespace weft::cpu {
namespace {

template <typename Products>
struct Workspace : Space<Products> {
  typename Products::Factor *k_transposed, *v_transposed, *k, *q, *d_y;
  typename Products::Factor *right_q, *right_d_y, *p_transposed, *d_s_transposed, *d_s;
  float *scores, *d_p, *factors, *d_q, *d_k, *d_v;

  Workspace(float* memory, int64_t keys, int64_t size) : Space<Products>(memory) {
    for (auto** matrix : {&k_transposed, &v_transposed}) *matrix = this->factor(size, keys);
    k = this->factor(keys, size);
    for (auto** matrix : {&q, &d_y}) *matrix = this->factor(kQueryTile, size);
    for (auto** matrix : {&right_q, &right_d_y}) *matrix = this->tile_factor(kQueryTile, size);
    for (auto** matrix : {&p_transposed, &d_s_transposed, &d_s}) *matrix = this->tile_factor(kQueryTile, keys);
    for (float** matrix : {&scores, &d_p, &factors}) *matrix = this->floats(kQueryTile, keys);
    d_q = this->result(kQueryTile, size);
    for (float** matrix : {&d_k, &d_v}) *matrix = this->result(keys, size);
  }
};

template <typename Products>
void backward_group(const ops::AttentionBackward& a, HeadGroup heads, Rows q, Rows k, float* memory) {
  using T = typename Products::Storage;
  const int64_t size = a.q.cols() / a.heads, k_col = heads.kv_head * size, ld = Products::round_up_cols(k.count());
  const Workspace<Products> s(memory, k.count(), size);
  const auto k_transposed = Products::transposed(Block<T>(a.k, k, k_col, size), s.k_transposed);
  const auto v_transposed = Products::transposed(Block<T>(a.v, k, k_col, size), s.v_transposed);
  const auto all_keys = Products::right(Block<T>(a.k, k, k_col, size), s.k);
  const int64_t seen = visible_keys(a.causal, q.count() - 1, k.count());
  const Result<Products> d_k(Block<T>(a.d_k, {k.begin, k.begin + seen}, k_col, size), s.d_k);
  const Result<Products> d_v(Block<T>(a.d_v, {k.begin, k.begin + seen}, k_col, size), s.d_v);

  for_each_tile(heads, q, k, a.causal, [&](const QueryTile& tile) {
    const int64_t rows = tile.count, keys = tile.keys(), padded = Products::round_up_cols(keys);
    const int64_t col = tile.head * size;
    const Scores p{s.scores, ld, rows, keys, padded}, d_s{s.d_p, ld, rows, keys, padded};
    const auto queries = Products::both(Block<T>(a.q, tile.rows(), col, size), s.q, s.right_q);
    const auto d_y = Products::both(Block<T>(a.d_y, tile.rows(), col, size), s.d_y, s.right_d_y);
    Products::multiply(rows, round_up_to_lanes(keys), size, queries.left, k_transposed, {p.data, ld});
    Products::multiply(rows, round_up_to_lanes(keys), size, d_y.left, v_transposed, {d_s.data, ld});
    score_gradients(a, tile, p, d_s, s.factors);
    // A causal sentence's first tile sees only the first keys, so it clears the other rows. Later tiles and heads add.
    const bool add = tile.begin > 0 || tile.head > heads.first;
    if (!add) d_k.zero_from(keys), d_v.zero_from(keys);
    // Pack all operands before the first matmul, because loading a tile that was just stored would stall.
    const auto p_transposed = Products::left_transposed(p, s.p_transposed);
    const auto d_s_transposed = Products::left_transposed(d_s, s.d_s_transposed);
    const auto d_s_rows = Products::left(d_s, s.d_s);
    Products::multiply(keys, size, rows, p_transposed, d_y.right, {d_v.data, d_v.ld, add});
    Products::multiply(keys, size, rows, d_s_transposed, queries.right, {d_k.data, d_k.ld, add});
    const Result<Products> d_q(Block<T>(a.d_q, tile.rows(), col, size), s.d_q);
    Products::multiply(rows, size, keys, d_s_rows, all_keys, {d_q.data, d_q.ld});
    d_q.finish();
  });
  for (const auto* d : {&d_k, &d_v}) d->finish();
  for (const Tensor* d : {&a.d_k, &a.d_v}) zero_columns<T>(*d, {k.begin + seen, k.end}, k_col, k_col + size);
}

template <typename T>
void backward_of_nothing(const ops::AttentionBackward& a, HeadGroup heads, Rows q, Rows k) {
  const int64_t size = a.q.cols() / a.heads, k_col = heads.kv_head * size;
  zero_columns<T>(a.d_q, q, heads.first * size, heads.last * size);
  for (const Tensor* d : {&a.d_k, &a.d_v}) zero_columns<T>(*d, k, k_col, k_col + size);
}

}  // namespace

void measure(Context& ctx, const ops::AttentionBackward& a) {
  for_products(runtime(ctx), a.y.dtype, [&](auto products) {
    const Workspace<decltype(products)> space(nullptr, longest(a.k_rows, a.k), a.q.cols() / a.heads);
    runtime(ctx).reserve_scratch(omp_get_max_threads(), space.used());
  });
}

void attention_backward(Context& ctx, const ops::AttentionBackward& a) {
  measure(ctx, a);
  Runtime& run = runtime(ctx);
  zero_uncovered(run, a.q_rows, a.d_q, {});
  for (const Tensor* d : {&a.d_k, &a.d_v}) zero_uncovered(run, a.k_rows, *d, {});
  for_products(run, a.y.dtype, [&](auto products) {
    using Products = decltype(products);
    for_each_group(run, a, [&](HeadGroup heads, Rows q, Rows k, float* scratch) {
      if (q.count() > 0 && k.count() > 0) return backward_group<Products>(a, heads, q, k, scratch);
      backward_of_nothing<typename Products::Storage>(a, heads, q, k);
    });
  });
}

}  // namespace weft::cpu
