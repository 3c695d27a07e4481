// tensor/cuda/attention/attention_forward.cu: computes attention of packed sentences in one pass over the keys (online
// softmax: Milakov & Gimelshein 2018; Dao et al. 2022). Each warp processes a tile of queries, and keeps the scores in
// registers.
#include <limits>

#include "tensor/cuda/attention/attention_dropout.cuh"
#include "tensor/cuda/attention/attention_tile.cuh"
#include "tensor/cuda/exponential.cuh"

namespace weft::cuda {
namespace {

using namespace attention;

template <typename T>
struct Forward {
  Head<const T> q, k, v;
  Head<T> y;
  float* lse;  // nullptr if it is not saved
  int64_t lse_stride;
  SentenceRows q_rows, k_rows;
  int num_sentences, num_queries, tile_rows;
  int group;  // query heads that share a head of k and v
  bool causal;
  float scale;
  Dropout dropout;
};

template <typename T, int kHead>
struct alignas(16) ForwardTiles {
  T q[kTileRows * kStride<T, kHead>], k[kChunk * kStride<T, kHead>], v[kChunk * kStride<T, kHead>];
};

// The softmax of a lane's two rows over the keys seen so far. `sum` covers only the lane's own columns.
struct OnlineSoftmax {
  float max[2] = {-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  float sum[2] = {0, 0};

  // Turns the scores of a chunk of keys into e^(score - max). Row i sees visible[i] keys of the chunk. Earlier sums,
  // here and in y, are rescaled to the new maximum.
  template <typename T, int kHead>
  __device__ void add(Accumulators<kChunk>& s, const int (&visible)[2], float scale, Accumulators<kHead>& y) {
    for (int row = 0; row < 2; ++row) {
      float largest = max[row];
      for (int group = 0; group < kChunk / 8; ++group) {
        for (int i = 2 * row; i < 2 * row + 2; ++i) {
          float& score = s.v[group][i];
          score = column_of(group, i) < visible[row] ? scale * score : -std::numeric_limits<float>::infinity();
          largest = score > largest ? score : largest;
        }
      }
      largest = larger(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, 1));
      largest = larger(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, 2));
      const float shrink = exp_for<T>(max[row] - largest);
      max[row] = largest;
      sum[row] *= shrink;
      for (int group = 0; group < kHead / 8; ++group) {
        for (int i = 2 * row; i < 2 * row + 2; ++i) y.v[group][i] *= shrink;
      }
      for (int group = 0; group < kChunk / 8; ++group) {
        for (int i = 2 * row; i < 2 * row + 2; ++i) {
          s.v[group][i] = exp_for<T>(s.v[group][i] - largest);
          sum[row] += s.v[group][i];
        }
      }
    }
  }

 private:
  __device__ static float larger(float a, float b) { return a > b ? a : b; }
};

// Multiplies the probabilities of a chunk of keys by their dropout factors. `query` and `key` are the mask's row and
// column of the first probability.
__device__ inline void apply_dropout(const DropoutMask& dropout, int64_t query, int64_t key, Accumulators<kChunk>& p) {
  const Kept kept = kept_of_queries<kChunk>(dropout, query, key);
  const float scale = dropout.keep_scale();  // a division
  for (int group = 0; group < kChunk / 8; ++group) {
    for (int i = 0; i < 4; ++i) p.v[group][i] = kept(group, i) ? scale * p.v[group][i] : 0.0f;
  }
}

// Divides each row of y by the row's sum, and saves the row's lse.
template <typename T, int kHead>
__device__ inline void normalize(const Forward<T>& a, const Visit& visit, int first, int num_keys,
                                 const OnlineSoftmax& softmax, Accumulators<kHead>& y) {
  for (int row = 0; row < 2; ++row) {
    const float sum = quad_sum(softmax.sum[row]), inverse = num_keys > 0 ? 1.0f / sum : 0.0f;
    for (int group = 0; group < kHead / 8; ++group) {
      for (int i = 2 * row; i < 2 * row + 2; ++i) y.v[group][i] *= inverse;
    }
    const int query = first + row_of(2 * row);
    if (a.lse != nullptr && lane_id() % 4 == 0 && query >= visit.begin && query < visit.end)
      a.lse[static_cast<int>(blockIdx.y) * a.lse_stride + query] =
          num_keys > 0 ? softmax.max[row] + log_of(sum) : -std::numeric_limits<float>::infinity();
  }
}

// Processes the tile's queries of one sentence, over all keys that they see.
template <typename T, int kHead>
__device__ inline void attend(const Forward<T>& a, const DropoutMask& dropout, const Visit& visit, int first,
                              ForwardTiles<T, kHead>& tiles) {
  const int head = static_cast<int>(blockIdx.y), k_head = head / a.group;
  const int q_begin = a.q_rows.begin[visit.sentence], k_begin = a.k_rows.begin[visit.sentence];
  const int num_keys = a.k_rows.end[visit.sentence] - k_begin;
  const int seen = a.causal ? smaller(visit.end - q_begin, num_keys) : num_keys;  // keys that at least one row sees
  OnlineSoftmax softmax;
  Accumulators<kHead> y;
  for (int key = 0; key < seen; key += kChunk) {
    const int count = smaller(kChunk, seen - key);
    __syncwarp();
    load_rows<kChunk, kHead>(a.k.at(k_head), k_begin + key, count, tiles.k);
    load_rows<kChunk, kHead>(a.v.at(k_head), k_begin + key, count, tiles.v);
    await_copies<1>();  // waits for the keys
    __syncwarp();
    Accumulators<kChunk> p;
    Products<T>::template by_rows<kHead>(tiles.q, tiles.k, p);
    int visible[2];
    for (int row = 0; row < 2; ++row)
      visible[row] = a.causal ? smaller(count, first + row_of(2 * row) - q_begin - key + 1) : count;
    softmax.template add<T>(p, visible, a.scale, y);
    if (dropout.rate > 0) apply_dropout(dropout, static_cast<int64_t>(head) * a.num_queries + first, k_begin + key, p);
    await_copies<0>();
    __syncwarp();
    Products<T>::template by_columns<kHead>(p, tiles.v, y);
  }
  normalize(a, visit, first, num_keys, softmax, y);
  store_rows(y, visit.rows(first), tiles.q, a.y.at(head), first);
}

template <typename T, int kHead>
__global__ void __launch_bounds__(kThreads<ForwardTiles<T, kHead>>,
                                  kMinBlocks<T, kWarps<ForwardTiles<T, kHead>> * sizeof(ForwardTiles<T, kHead>), 4>)
    attention_forward_kernel(Forward<T> a) {
  using Tiles = ForwardTiles<T, kHead>;
  const int first = first_row<Tiles>(a.tile_rows), last = smaller(first + a.tile_rows, a.num_queries);
  if (first >= last) return;
  Tiles& tiles = tiles_of_warp<Tiles>();
  const DropoutMask dropout = a.dropout.mask();
  const int head = static_cast<int>(blockIdx.y);
  load_rows<kTileRows, kHead>(a.q.at(head), first, last - first, tiles.q);

  SentencesOfTile sentences(a.q_rows, a.num_sentences, first, last);
  for (Visit visit; sentences.next(visit);) attend<T, kHead>(a, dropout, visit, first, tiles);
  const uint32_t left = sentences.unused_rows();
  if (left == 0) return;
  store_rows(Accumulators<kHead>{}, left, tiles.q, a.y.at(head), first);
  if (a.lse != nullptr && left >> lane_id() & 1u) a.lse[head * a.lse_stride + first + lane_id()] = 0.0f;
}

}  // namespace

void attention_forward(Context& ctx, const ops::AttentionForward& a) {
  require_head_size(a.q.cols() / a.heads);
  const int64_t group = group_size(a);
  for_storage(a.q.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Forward<T> parameters{.q = first_head<const T>(a.q, a.heads),
                                .k = first_head<const T>(a.k, a.heads / group),
                                .v = first_head<const T>(a.v, a.heads / group),
                                .y = first_head<T>(a.y, a.heads),
                                .lse = a.lse.empty() ? nullptr : a.lse.ptr<float>(),
                                .lse_stride = a.lse.empty() ? 0 : a.lse.row_stride,
                                .q_rows = SentenceRows(a.q_rows),
                                .k_rows = SentenceRows(a.k_rows),
                                .num_sentences = static_cast<int>(a.q_rows.begin.numel()),
                                .num_queries = static_cast<int>(a.q.rows()),
                                // In decoding, a sentence has one query. With a tile per query, none waits for others.
                                .tile_rows = a.q_rows.longest == 1 ? 1 : kTileRows,
                                .group = static_cast<int>(group),
                                .causal = a.causal,
                                .scale = a.scale,
                                .dropout = a.dropout};
    for_head_size(a.q.cols() / a.heads, [&](auto head) {
      constexpr int kHead = decltype(head)::value;
      using Tiles = ForwardTiles<T, kHead>;
      const dim3 grid(blocks_for(a.q.rows(), int64_t{parameters.tile_rows} * kWarps<Tiles>),
                      static_cast<unsigned>(a.heads));
      launch(ctx, "attention_forward", attention_forward_kernel<T, kHead>, grid, dim3(kThreads<Tiles>),
             kWarps<Tiles> * sizeof(Tiles), parameters);
    });
  });
}

}  // namespace weft::cuda
