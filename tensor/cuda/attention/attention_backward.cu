// tensor/cuda/attention/attention_backward.cu: attention gradients; probabilities are recomputed from the
// saved lse.
//
// With P the probabilities, M the dropout factors and dP = dY V^T:  dV = (P M)^T dY,
// dS = scale P (dP M - delta) with delta = rowsum(dY Y),  dQ = dS K,  dK = dS^T Q.
//
// One kernel runs twice: first for tiles of queries, which own d_q and delta, then for tiles of keys, which own
// d_k and d_v. For a tile of keys everything is transposed: queries are the columns.
#include <utility>

#include "tensor/cuda/attention/attention_dropout.cuh"
#include "tensor/cuda/attention/attention_tile.cuh"
#include "tensor/cuda/exponential.cuh"

namespace weft::cuda {
namespace {

using namespace attention;

enum class Side { queries, keys };

// What a tile reads of each side: Q and dY of queries, K and V of keys. The matmul of the two first members
// gives the scores, that of the second ones dP.
template <typename T>
struct Pair {
  Head<const T> first, second;
};

template <typename T>
struct Backward {
  Pair<T> own, other;
  Head<T> d_first, d_second;  // the owner's: d_q alone, or d_k and d_v
  SentenceRows own_rows, other_rows;
  int num_sentences, num_rows;  // the owner's
  Head<const T> y;
  const float* lse;  // [N, Rq]
  float* delta;      // [N, Rq], written by tiles of queries
  int64_t lse_stride;
  int num_queries;
  int group;  // query heads per head of k and v
  bool causal;
  float scale;
  Dropout dropout;
};

template <typename T, int kHead>
struct alignas(16) BackwardTiles {
  T own_first[kTileRows * kStride<T, kHead>], own_second[kTileRows * kStride<T, kHead>];
  T other_first[kChunk * kStride<T, kHead>], other_second[kChunk * kStride<T, kHead>];
};

// lse and delta of a lane's queries: its two rows in a tile of queries, its columns in a tile of keys.
template <Side kOwner>
struct QueryStats {
  static constexpr int kCount = kOwner == Side::queries ? 2 : kChunk / 4;
  float lse[kCount], delta[kCount];

  // `query` is the tile's first row or the chunk's first column; rows from `end` on are ignored.
  template <typename T>
  __device__ QueryStats(const Backward<T>& a, int64_t head, int query, int end) {
    for (int n = 0; n < kCount; ++n) {
      const int i = query + (kOwner == Side::queries ? row_of(2 * n) : column_of(n / 2, n % 2));
      lse[n] = i < end ? a.lse[head * a.lse_stride + i] : 0.0f;
      delta[n] = i < end ? a.delta[head * a.num_queries + i] : 0.0f;
    }
  }
  // Index of the query of element i of a group.
  __device__ static int index(int group, int i) { return kOwner == Side::queries ? i / 2 : 2 * group + i % 2; }
};

// Position of a chunk's rows and of the tile's rows in their sentence.
struct ChunkRows {
  int tile, begin, count;  // first row of the tile and of the chunk, relative to their sentence's first rows
  bool causal;

  template <Side kOwner>
  __device__ bool sees(int group, int i) const {
    const int own = tile + row_of(i), other = begin + column_of(group, i);
    return column_of(group, i) < count && (!causal || (kOwner == Side::queries ? other <= own : own <= other));
  }
};

// Turns scores in `p` and dP in `d_s` into P M and dS.
template <typename T, Side kOwner>
__device__ inline void score_gradients(const ChunkRows& rows, const QueryStats<kOwner>& stats, float scale,
                                       const Kept& kept, float keep_scale, Accumulators<kChunk>& p,
                                       Accumulators<kChunk>& d_s) {
  for (int group = 0; group < kChunk / 8; ++group) {
    for (int i = 0; i < 4; ++i) {
      const int query = QueryStats<kOwner>::index(group, i);
      const bool sees = rows.template sees<kOwner>(group, i);
      const float probability = sees ? exp_for<T>(scale * p.v[group][i] - stats.lse[query]) : 0.0f;
      const float factor = kept(group, i) ? keep_scale : 0.0f;
      const float d_score = scale * probability * (d_s.v[group][i] * factor - stats.delta[query]);
      d_s.v[group][i] = sees ? d_score : 0.0f;
      p.v[group][i] = probability * factor;
    }
  }
}

// delta of a tile's queries, for itself and for the tiles of keys. Y passes through the memory of the other side.
template <typename T, int kHead>
__device__ inline void find_delta(const Backward<T>& a, int first, int count, BackwardTiles<T, kHead>& tiles) {
  const int head = static_cast<int>(blockIdx.y);
  load_rows<kTileRows, kHead>(a.y.at(head), first, count, tiles.other_first);
  await_copies<0>();
  __syncwarp();
  for (int row = 0; row < 2; ++row) {
    const int offset = row_of(2 * row) * kStride<T, kHead> + column_of(0, 0);
    const T *const y = tiles.other_first + offset, *const d_y = tiles.own_second + offset;
    float sum = 0;
    for (int group = 0; group < kHead / 8; ++group) {
      for (int i = 0; i < 2; ++i) sum = fmaf(to_float(d_y[8 * group + i]), to_float(y[8 * group + i]), sum);
    }
    sum = quad_sum(sum);
    if (lane_id() % 4 == 0 && row_of(2 * row) < count)
      a.delta[static_cast<int64_t>(head) * a.num_queries + first + row_of(2 * row)] = sum;
  }
  __syncwarp();
}

// Computes the tile's rows of one sentence. A tile of keys sums over the query heads of its group in order.
template <typename T, int kHead, Side kOwner>
__device__ inline void differentiate(const Backward<T>& a, const DropoutMask& dropout, const Visit& visit, int first,
                                     BackwardTiles<T, kHead>& tiles) {
  const int head = static_cast<int>(blockIdx.y);
  const int own_begin = a.own_rows.begin[visit.sentence], other_begin = a.other_rows.begin[visit.sentence];
  const int num_others = a.other_rows.end[visit.sentence] - other_begin;
  // With the causal mask, the tile's last query sees keys up to its own, and its first key is visible from
  // its own query on.
  constexpr bool queries = kOwner == Side::queries;
  const int end = a.causal && queries ? smaller(visit.end - own_begin, num_others) : num_others;
  const int least = a.causal && !queries ? (visit.begin - own_begin) / kChunk * kChunk : 0;

  // One loop over heads and chunks: with two, ptxas uses so many registers that fewer blocks fit on an SM.
  const int num_heads = queries ? 1 : a.group, num_chunks = (end - least + kChunk - 1) / kChunk;
  int query_head = head * num_heads, begin = least;
  Accumulators<kHead> d_first, d_second;
  for (int step = 0; step < num_heads * num_chunks; ++step, begin += kChunk) {
    if (!queries && begin >= end) begin = least, ++query_head;
    const int other_head = queries ? head / a.group : query_head;
    const int row = other_begin + begin, count = smaller(kChunk, end - begin);
    __syncwarp();
    load_rows<kChunk, kHead>(a.other.first.at(other_head), row, count, tiles.other_first);
    load_rows<kChunk, kHead>(a.other.second.at(other_head), row, count, tiles.other_second);
    await_copies<0>();
    __syncwarp();
    Accumulators<kChunk> p, d_s;
    Products<T>::template by_rows<kHead>(tiles.own_first, tiles.other_first, p);
    Products<T>::template by_rows<kHead>(tiles.own_second, tiles.other_second, d_s);
    const QueryStats<kOwner> stats(a, query_head, queries ? first : row, queries ? a.num_rows : row + count);
    Kept kept = Kept::all();
    if (dropout.rate > 0) {
      const int64_t mask_row = static_cast<int64_t>(query_head) * a.num_queries;
      kept = queries ? kept_of_queries(dropout, mask_row + first, row) : kept_of_keys(dropout, mask_row + row, first);
    }
    score_gradients<T>({first - own_begin, begin, count, a.causal}, stats, a.scale, kept,
                       dropout.rate > 0 ? dropout.keep_scale() : 1.0f, p, d_s);
    Products<T>::template by_columns<kHead>(d_s, tiles.other_first, d_first);
    if constexpr (kOwner == Side::keys) Products<T>::template by_columns<kHead>(p, tiles.other_second, d_second);
  }
  store_rows(d_first, visit.rows(first), tiles.own_first, a.d_first.at(head), first);
  if constexpr (kOwner == Side::keys)
    store_rows(d_second, visit.rows(first), tiles.own_second, a.d_second.at(head), first);
}

template <typename T, int kHead, Side kOwner>
__global__ void __launch_bounds__(kThreads<BackwardTiles<T, kHead>>, kMinBlocks<T, BackwardTiles<T, kHead>, 3>)
    attention_backward_kernel(Backward<T> a) {
  using Tiles = BackwardTiles<T, kHead>;
  const int first = first_row<Tiles>(kTileRows), last = smaller(first + kTileRows, a.num_rows);
  if (first >= last) return;
  Tiles& tiles = tiles_of_warp<Tiles>();
  const DropoutMask dropout = a.dropout.mask();
  const int head = static_cast<int>(blockIdx.y);
  load_rows<kTileRows, kHead>(a.own.first.at(head), first, last - first, tiles.own_first);
  load_rows<kTileRows, kHead>(a.own.second.at(head), first, last - first, tiles.own_second);
  if constexpr (kOwner == Side::queries) find_delta(a, first, last - first, tiles);

  SentencesOfTile sentences(a.own_rows, a.num_sentences, first, last);
  for (Visit visit; sentences.next(visit);) differentiate<T, kHead, kOwner>(a, dropout, visit, first, tiles);
  const uint32_t left = sentences.unused_rows();
  if (left == 0) return;
  store_rows(Accumulators<kHead>{}, left, tiles.own_first, a.d_first.at(head), first);
  if constexpr (kOwner == Side::keys)
    store_rows(Accumulators<kHead>{}, left, tiles.own_second, a.d_second.at(head), first);
}

template <typename T, Side kOwner>
void launch_owners(Context& ctx, const ops::AttentionBackward& op, int64_t heads, const Backward<T>& a) {
  for_head_size(op.q.cols() / op.heads, [&](auto head) {
    constexpr int kHead = decltype(head)::value;
    launch_tiles<BackwardTiles<T, kHead>>(ctx, "attention_backward", attention_backward_kernel<T, kHead, kOwner>,
                                          a.num_rows, kTileRows, heads, a);
  });
}

}  // namespace

void attention_backward(Context& ctx, const ops::AttentionBackward& a) {
  measure(ctx, a);
  float* const delta = runtime(ctx).scratch<float>(Runtime::kAttention);
  const int num_queries = static_cast<int>(a.q.rows());
  const int64_t group = group_size(a), kv_heads = a.heads / group;
  for_storage(a.q.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto of_queries = [&](const Tensor& t) { return first_head<const T>(t, a.heads); };
    const auto of_keys = [&](const Tensor& t) { return first_head<const T>(t, kv_heads); };
    const Pair<T> queries{of_queries(a.q), of_queries(a.d_y)}, keys{of_keys(a.k), of_keys(a.v)};
    Backward<T> owners{.own = queries,
                       .other = keys,
                       .d_first = first_head<T>(a.d_q, a.heads),
                       .d_second = {},
                       .own_rows = SentenceRows(a.q_rows),
                       .other_rows = SentenceRows(a.k_rows),
                       .num_sentences = static_cast<int>(a.q_rows.begin.numel()),
                       .num_rows = num_queries,
                       .y = of_queries(a.y),
                       .lse = a.lse.ptr<float>(),
                       .delta = delta,
                       .lse_stride = a.lse.row_stride,
                       .num_queries = num_queries,
                       .group = static_cast<int>(group),
                       .causal = a.causal,
                       .scale = a.scale,
                       .dropout = a.dropout};
    launch_owners<T, Side::queries>(ctx, a, a.heads, owners);

    owners.own = keys, owners.other = queries;
    owners.d_first = first_head<T>(a.d_k, kv_heads), owners.d_second = first_head<T>(a.d_v, kv_heads);
    std::swap(owners.own_rows, owners.other_rows);
    owners.num_rows = static_cast<int>(a.k.rows());
    launch_owners<T, Side::keys>(ctx, a, kv_heads, owners);
  });
}

}  // namespace weft::cuda
