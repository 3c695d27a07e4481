// tensor/cuda/attention/attention_backward.cu: computes attention gradients, and recomputes probabilities from lse.
//
// With P the probabilities, M the dropout factors, dP = dY V^T, and * elementwise:  dV = (P * M)^T dY,
// dS = scale P * (dP * M - delta) with delta = rowsum(dY * Y),  dQ = dS K,  dK = dS^T Q.
//
// A block takes pieces of the work (tensor/op/attention_pieces.h) for one head of k and v. Each warp computes P * M, dS
// and dQ for a tile of 16 queries. Then it sums dK and dV for a tile of 16 keys over the results of all warps. A row's
// sums and their order depend only on the sentence, because tiles are counted from the sentence's first row.
#include "tensor/cuda/attention/attention_dropout.cuh"
#include "tensor/cuda/attention/attention_tile.cuh"
#include "tensor/cuda/exponential.cuh"
#include "tensor/op/attention_pieces.h"

namespace weft::cuda {
namespace {

using namespace attention;

template <typename T>
struct Backward {
  Head<const T> q, k, v, y, d_y;
  Head<T> d_q, d_k, d_v;
  SentenceRows q_rows, k_rows;
  const int4* pieces;
  const float* lse;  // [N, Rq]
  int64_t lse_stride;
  int num_queries, num_keys;
  int group;  // query heads that share a head of k and v
  bool causal;
  float scale;
  Dropout dropout;
};

// Up to kTileRows rows of a sentence, from a multiple of kTileRows on. A tile without rows belongs to no sentence.
struct Tile {
  int sentence = -1, position = 0, row = 0, count = 0;
  __device__ uint32_t rows() const { return (1u << count) - 1u; }  // one bit per row
};

// Returns true if any query sees any key. The positions of both tiles are multiples of kTileRows.
__device__ inline bool sees(const Tile& queries, const Tile& keys, bool causal) {
  return queries.sentence == keys.sentence && queries.sentence >= 0 && (!causal || keys.position <= queries.position);
}

constexpr unsigned kMaxPieces = 4096;  // blocks that start at once; a grid allows 65,535 blocks in y

// In f32, shared memory has room for only half of a piece.
template <typename T>
inline constexpr int kTiles = ops::AttentionPieces::kTiles / (sizeof(T) / 2);

template <typename T, int kHead>
struct alignas(16) BackwardTiles {
  static constexpr int kRows = kTiles<T> * kTileRows;
  T q[kRows * kStride<T, kHead>], d_y[kRows * kStride<T, kHead>];
  T k[kRows * kStride<T, kHead>], v[kRows * kStride<T, kHead>];
  T p[kRows * kStride<T, kRows>], d_s[kRows * kStride<T, kRows>];  // P * M and dS, one row per query
  float delta[kRows];
  Tile queries[kTiles<T>], keys[kTiles<T>];
};

// What a block computes at once: gradients of queries, of keys, or of both. Both need memory for all rows of the
// sentences, and one query head per head of keys. (Sums over more heads would use too many registers.)
struct Part {
  int4 sentences;  // -1: no sentence
  int first;       // the first row of each sentence for which the part computes gradients
  bool d_queries, d_keys;
  bool fits;  // true if there is memory for all rows of the other side
};

__device__ inline int sentence_of(const int4& piece, int i) {
  return i == 0 ? piece.x : i == 1 ? piece.y : i == 2 ? piece.z : piece.w;
}

// The parts of a piece. If there is memory for fewer rows, each sentence has its own parts.
template <int kRows>
struct Parts {
  static constexpr int kTimes = ops::AttentionPieces::kRows / kRows;
  int4 piece;
  bool shared;  // true if sentences share the piece
  int group;

  __device__ int count() const {
    return !shared ? kTimes : kTimes > 1 ? ops::AttentionPieces::kTiles * kTimes * 2 : group > 1 ? 2 : 1;
  }
  __device__ Part operator[](int i) const {
    const bool queries = i % 2 == 0;
    if (!shared) return {{piece.x, -1, -1, -1}, piece.y + i * kRows, piece.z == 0, piece.z == 1, false};
    if (kTimes == 1) return {piece, 0, queries, !queries || group == 1, true};
    return {{sentence_of(piece, i / (2 * kTimes)), -1, -1, -1}, i / 2 % kTimes * kRows, queries, !queries, false};
  }
};

// Returns tile number `tile` of the sentences, each divided into tiles from its row `first`. All loads start at once.
__device__ inline Tile find_tile(const SentenceRows& rows, const int4& sentences, int first, int tile) {
  constexpr int kMax = ops::AttentionPieces::kTiles;
  int begin[kMax], end[kMax];
  for (int i = 0; i < kMax; ++i) {
    const int sentence = sentence_of(sentences, i);
    begin[i] = sentence < 0 ? 0 : rows.begin[sentence] + first;
    end[i] = sentence < 0 ? 0 : rows.end[sentence];
  }
  Tile found;
  for (int i = 0; i < kMax; ++i) {
    const int row = begin[i] + tile * kTileRows;
    if (tile >= 0 && row < end[i])
      found = {sentence_of(sentences, i), first + tile * kTileRows, row, smaller(kTileRows, end[i] - row)};
    tile -= end[i] > begin[i] ? (end[i] - begin[i] + kTileRows - 1) / kTileRows : 0;
  }
  return found;
}

// Divides the other side of a part into steps of `rows` rows, for each query head of the group.
struct Steps {
  int begin = 0, count = 1;  // the first row, and the number of steps per head
  template <typename T>
  __device__ Steps(const Backward<T>& a, const Part& part, int rows) {
    if (part.fits) return;
    const SentenceRows& own = part.d_queries ? a.q_rows : a.k_rows;
    const SentenceRows& others = part.d_queries ? a.k_rows : a.q_rows;
    int end = others.end[part.sentences.x] - others.begin[part.sentences.x];
    if (a.causal && part.d_queries) end = smaller(end, part.first + rows);
    if (a.causal && part.d_keys) begin = part.first;
    if (end > begin + rows) count = (end - begin + rows - 1) / rows;
    if (own.begin[part.sentences.x] + part.first >= own.end[part.sentences.x]) count = 0;
  }
};

// Y of the warp's queries. The constructor starts the loads but does not wait for them.
template <typename T, int kHead>
struct RowsOfY {
  Packet<T> packets[kTileRows / LanePackets<T, kHead>::kRowsAtOnce];

  __device__ RowsOfY(const Head<const T>& y, const Tile& tile) {
    const LanePackets<T, kHead> lane;
    for (int r = 0; r < kTileRows; r += lane.kRowsAtOnce)
      load_packet(y, tile.row + lane.row + r, lane.col, lane.row + r < tile.count, packets[r / lane.kRowsAtOnce].v);
  }
  // Computes delta of each row, from dY in shared memory.
  __device__ void multiply(const T* d_y, float* delta) const {
    const LanePackets<T, kHead> lane;
    for (int r = 0; r < kTileRows; r += lane.kRowsAtOnce) {
      const Packet<T>& own = packets[r / lane.kRowsAtOnce];
      const auto other = *reinterpret_cast<const Packet<T>*>(d_y + (lane.row + r) * kStride<T, kHead> + lane.col);
      float sum = 0;
      for (int e = 0; e < Packet<T>::kSize; ++e) sum = fmaf(to_float(other.v[e]), to_float(own.v[e]), sum);
      for (int lanes = lane.kPackets / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, lanes);
      if (lane.col == 0) delta[lane.row + r] = sum;
    }
  }
};

// The lse of the two rows of queries that a lane has.
struct RowLse {
  float v[2];
  template <typename T>
  __device__ RowLse(const Backward<T>& a, int head, const Tile& queries) {
    for (int i = 0; i < 2; ++i)
      v[i] = row_of(2 * i) < queries.count ? a.lse[head * a.lse_stride + queries.row + row_of(2 * i)] : 0.0f;
  }
};

struct Queries {  // a warp's tile of queries of one head
  Tile tile;
  int head;
  RowLse lse;
};

struct RowConstants {
  RowLse lse;
  float delta[2];  // for the lane's two rows
  float scale;
};

// The dropout factor of a score: keep_scale, or 0.
struct Factors {
  Kept kept;
  float keep_scale;
  __device__ float operator()(int group, int i) const { return kept(group, i) ? keep_scale : 0.0f; }
};

struct Scores {  // a tile of queries x a tile of keys
  Accumulators<kTileRows> p, d_s;
};

// Turns scores in `p` and dP in `d_s` into P * M and dS.
template <typename T>
__device__ inline void score_gradients(const Tile& queries, const Tile& keys, bool causal, const RowConstants& rows,
                                       const Factors& factors, Scores& s) {
  for (int group = 0; group < kTileRows / 8; ++group) {
    for (int i = 0; i < 4; ++i) {
      const int key = column_of(group, i);
      const bool sees = key < keys.count && (!causal || keys.position + key <= queries.position + row_of(i));
      const float probability = sees ? exp_for<T>(rows.scale * s.p.v[group][i] - rows.lse.v[i / 2]) : 0.0f;
      const float factor = factors(group, i);
      const float d_score = rows.scale * probability * (s.d_s.v[group][i] * factor - rows.delta[i / 2]);
      s.d_s.v[group][i] = sees ? d_score : 0.0f;
      s.p.v[group][i] = probability * factor;
    }
  }
}

// Computes P * M, dS and, if `d_queries`, the terms of dQ, for the warp's queries and all keys of the step.
template <typename T, int kHead>
__device__ inline void differentiate_queries(const Backward<T>& a, const DropoutMask& dropout, const Queries& queries,
                                             BackwardTiles<T, kHead>& tiles, bool d_queries, Accumulators<kHead>& d_q) {
  constexpr int kNext = kTileRows * kStride<T, kHead>, kScores = kStride<T, BackwardTiles<T, kHead>::kRows>;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const RowConstants rows{
      queries.lse, {tiles.delta[warp * kTileRows + row_of(0)], tiles.delta[warp * kTileRows + row_of(2)]}, a.scale};
#pragma unroll 1
  for (int i = 0; i < kTiles<T>; ++i) {
    const Tile keys = tiles.keys[i];
    if (!sees(queries.tile, keys, a.causal)) continue;
    Scores s;
    Products<T>::template by_rows<kHead>(tiles.q + warp * kNext, tiles.k + i * kNext, s.p);
    Products<T>::template by_rows<kHead>(tiles.d_y + warp * kNext, tiles.v + i * kNext, s.d_s);
    Kept kept = Kept::all();
    if (dropout.rate > 0)
      kept = kept_of_queries<kTileRows>(dropout, static_cast<int64_t>(queries.head) * a.num_queries + queries.tile.row,
                                        keys.row);
    score_gradients<T>(queries.tile, keys, a.causal, rows, {kept, dropout.rate > 0 ? dropout.keep_scale() : 1.0f}, s);
    const int place = warp * kTileRows * kScores + i * kTileRows;
    store_tile(s.p, 0xFFFFu, tiles.p + place, kScores);
    store_tile(s.d_s, 0xFFFFu, tiles.d_s + place, kScores);
    if (d_queries) Products<T>::template by_columns<kHead>(s.d_s, tiles.k + i * kNext, d_q);
  }
}

// Computes the terms of dK and dV for the warp's keys and all queries of the step.
template <typename T, int kHead>
__device__ inline void differentiate_keys(const Tile& keys, bool causal, const BackwardTiles<T, kHead>& tiles,
                                          Accumulators<kHead>& d_k, Accumulators<kHead>& d_v) {
  constexpr int kNext = kTileRows * kStride<T, kHead>, kScores = kStride<T, BackwardTiles<T, kHead>::kRows>;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll 1
  for (int i = 0; i < kTiles<T>; ++i) {
    if (!sees(tiles.queries[i], keys, causal)) continue;
    const int place = i * kTileRows * kScores + warp * kTileRows;
    Products<T>::template by_transposed<kHead>(tiles.p + place, kScores, tiles.d_y + i * kNext, d_v);
    Products<T>::template by_transposed<kHead>(tiles.d_s + place, kScores, tiles.q + i * kNext, d_k);
  }
}

// Finds the tiles of a step: the part's own rows and, on the other side, the rows from `other` on.
template <typename T, int kHead>
__device__ inline void find_tiles(const Backward<T>& a, const Part& part, int other, BackwardTiles<T, kHead>& tiles) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < kTiles<T>)
    tiles.queries[i] = find_tile(a.q_rows, part.sentences, part.d_queries ? part.first : other, i);
  else if (i < 2 * kTiles<T>)
    tiles.keys[i - kTiles<T>] = find_tile(a.k_rows, part.sentences, part.d_keys ? part.first : other, i - kTiles<T>);
}

template <typename T, int kHead>
__device__ inline void differentiate(const Backward<T>& a, const DropoutMask& dropout, const Part& part,
                                     BackwardTiles<T, kHead>& tiles) {
  constexpr int kRows = BackwardTiles<T, kHead>::kRows;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, kv_head = static_cast<int>(blockIdx.x);
  const int own = warp * kTileRows * kStride<T, kHead>;
  const Steps steps(a, part, kRows);
  Tile keys;
  Accumulators<kHead> d_first, d_v;  // d_first: dQ, which is stored before dK starts, or dK
  // One loop covers heads and steps. With two loops, ptxas uses so many registers that fewer blocks fit on an SM.
  int head = kv_head * a.group;
  for (int n = 0, step = 0; n < a.group * steps.count; ++n, ++step) {
    if (step == steps.count) step = 0, ++head;
    __syncthreads();  // the tiles of the step before were read
    find_tiles(a, part, steps.begin + step * kRows, tiles);
    __syncthreads();
    const Tile queries = tiles.queries[warp];
    keys = tiles.keys[warp];
    load_rows<kTileRows, kHead>(a.q.at(head), queries.row, queries.count, tiles.q + own);
    load_rows<kTileRows, kHead>(a.d_y.at(head), queries.row, queries.count, tiles.d_y + own);
    load_rows<kTileRows, kHead>(a.k.at(kv_head), keys.row, keys.count, tiles.k + own);
    load_rows<kTileRows, kHead>(a.v.at(kv_head), keys.row, keys.count, tiles.v + own);
    const RowsOfY<T, kHead> y(a.y.at(head), queries);
    const RowLse lse(a, head, queries);
    await_copies<0>();
    __syncwarp();
    y.multiply(tiles.d_y + own, tiles.delta + warp * kTileRows);
    __syncthreads();
    differentiate_queries(a, dropout, {queries, head, lse}, tiles, part.d_queries, d_first);
    __syncthreads();
    if (part.d_queries && step + 1 == steps.count) {  // K was read, and its memory is free
      store_rows(d_first, queries.rows(), tiles.k + own, a.d_q.at(head), queries.row);
      d_first = {};
    }
    if (part.d_keys) differentiate_keys(keys, a.causal, tiles, d_first, d_v);
  }
  if (!part.d_keys) return;
  __syncwarp();
  store_rows(d_first, keys.rows(), tiles.k + own, a.d_k.at(kv_head), keys.row);
  store_rows(d_v, keys.rows(), tiles.v + own, a.d_v.at(kv_head), keys.row);
}

// Sets rows that belong to no sentence to 0, one row per thread.
template <typename T>
__device__ inline void clear_unused_rows(const Head<T>& head, const int32_t* sentence_of_row, int num_rows) {
  const int threads = static_cast<int>(gridDim.y * blockDim.x);
  for (int row = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x); row < num_rows; row += threads) {
    if (sentence_of_row[row] >= 0) continue;
#pragma unroll 1
    for (int col = 0; col < head.size; ++col) head.data[row * head.stride + col] = T{};
  }
}

template <typename T, int kHead>
__global__ void __launch_bounds__(kTiles<T>* kWarp, kMinBlocks<T, sizeof(BackwardTiles<T, kHead>), 3>)
    attention_backward_kernel(Backward<T> a) {
  auto& tiles = *shared_memory<BackwardTiles<T, kHead>>();
  constexpr int kRows = BackwardTiles<T, kHead>::kRows;
  const DropoutMask dropout = a.dropout.mask();
  const int kv_head = static_cast<int>(blockIdx.x);
  const int4 counts = a.pieces[0];
  for (int i = static_cast<int>(blockIdx.y); i < counts.x + counts.y; i += static_cast<int>(gridDim.y)) {
    const Parts<kRows> parts{a.pieces[1 + i], i >= counts.x, a.group};
    for (int n = 0; n < parts.count(); ++n) {
      const Part part = parts[n];
      if (part.sentences.x >= 0) differentiate(a, dropout, part, tiles);
    }
  }
  for (int head = kv_head * a.group; head < (kv_head + 1) * a.group; ++head)
    clear_unused_rows(a.d_q.at(head), a.q_rows.of_row, a.num_queries);
  clear_unused_rows(a.d_k.at(kv_head), a.k_rows.of_row, a.num_keys);
  clear_unused_rows(a.d_v.at(kv_head), a.k_rows.of_row, a.num_keys);
}

}  // namespace

void attention_backward(Context& ctx, const ops::AttentionBackward& a) {
  measure(ctx, a);
  const int64_t group = group_size(a), kv_heads = a.heads / group;
  for_storage(a.q.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto of_queries = [&](const Tensor& t) { return first_head<const T>(t, a.heads); };
    const auto of_keys = [&](const Tensor& t) { return first_head<const T>(t, kv_heads); };
    const Backward<T> parameters{.q = of_queries(a.q),
                                 .k = of_keys(a.k),
                                 .v = of_keys(a.v),
                                 .y = of_queries(a.y),
                                 .d_y = of_queries(a.d_y),
                                 .d_q = first_head<T>(a.d_q, a.heads),
                                 .d_k = first_head<T>(a.d_k, kv_heads),
                                 .d_v = first_head<T>(a.d_v, kv_heads),
                                 .q_rows = SentenceRows(a.q_rows),
                                 .k_rows = SentenceRows(a.k_rows),
                                 .pieces = a.q_rows.pieces.ptr<int4>(),
                                 .lse = a.lse.ptr<float>(),
                                 .lse_stride = a.lse.row_stride,
                                 .num_queries = static_cast<int>(a.q.rows()),
                                 .num_keys = static_cast<int>(a.k.rows()),
                                 .group = static_cast<int>(group),
                                 .causal = a.causal,
                                 .scale = a.scale,
                                 .dropout = a.dropout};
    for_head_size(a.q.cols() / a.heads, [&](auto head) {
      using Tiles = BackwardTiles<T, decltype(head)::value>;
      // A host that records a graph does not know the pieces of later data blocks. Therefore it starts as many thread
      // blocks as text usually has pieces, and each takes every gridDim.y-th piece. All heads of the first piece, which
      // takes longest, start first.
      const dim3 grid(static_cast<unsigned>(kv_heads),
                      std::min(blocks_for(a.q.rows() + a.k.rows(), ops::AttentionPieces::kRows), kMaxPieces));
      launch(ctx, "attention_backward", attention_backward_kernel<T, decltype(head)::value>, grid,
             dim3(kTiles<T> * kWarp), sizeof(Tiles), parameters);
    });
  });
}

}  // namespace weft::cuda
