// tensor/cuda/attention/attention_tile.cuh: a warp's tile of attention: consecutive rows of one head, the sentences
// that they belong to, and rows on their way between global and shared memory.
//
// A warp owns what it writes: up to kTileRows rows, of queries or of keys. It visits their sentences one after the
// other, and the rows of each on the other side in chunks that are counted from the sentence's own first row. So what
// a row sums, and in which order, is the same wherever its sentence lies and whatever lies beside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tensor/cuda/attention/attention.h"
#include "tensor/cuda/attention/attention_products.cuh"
#include "tensor/cuda/launch.cuh"
#include "tensor/cuda/vector.cuh"
#include "tensor/op_formulas.h"

namespace weft::cuda::attention {

// The columns of one head of a matrix [R, N * K] in global memory.
template <typename T>
struct Head {
  T* data;
  int64_t stride;
  int size;   // K
  bool wide;  // every row of every head begins and ends at a multiple of 16 bytes

  __device__ Head at(int head) const { return {data + static_cast<int64_t>(head) * size, stride, size, wide}; }
};
template <typename T>
Head<T> first_head(const Tensor& t, int64_t heads) {
  constexpr int64_t kAligned = Packet<T>::kSize;
  const int64_t size = t.cols() / heads;
  const bool wide =
      reinterpret_cast<uintptr_t>(t.data) % 16 == 0 && t.row_stride % kAligned == 0 && size % kAligned == 0;
  return {t.ptr<std::remove_const_t<T>>(), t.row_stride, static_cast<int>(size), wide};
}

struct SentenceRows {
  const int32_t *begin, *end;
  explicit SentenceRows(const ops::SequenceRanges& s) : begin(s.begin.ptr<int32_t>()), end(s.end.ptr<int32_t>()) {}
};

// A sentence and its rows among those of a tile.
struct Visit {
  int sentence, begin, end;
  __device__ uint32_t rows(int first) const { return ((1u << (end - begin)) - 1u) << (begin - first); }  // bits
};

// visit(Visit) for each sentence with rows in [first, last), by number; the whole warp together. Sentences may lie in
// any order, and share no row. The result has the bits of the rows of no sentence.
template <typename F>
__device__ inline uint32_t for_each_sentence(const SentenceRows& rows, int num_sentences, int first, int last,
                                             const F& visit) {
  uint32_t left = (1u << (last - first)) - 1u;
  for (int base = 0; base < num_sentences && left != 0; base += kWarp) {
    const int mine = base + lane_id();
    const int begin = mine < num_sentences ? std::max<int>(rows.begin[mine], first) : last;
    const int end = mine < num_sentences ? smaller(rows.end[mine], last) : last;
    for (uint32_t found = __ballot_sync(0xFFFFFFFFu, begin < end); found != 0; found &= found - 1) {
      const int source = __ffs(static_cast<int>(found)) - 1;
      const Visit next{base + source, __shfl_sync(0xFFFFFFFFu, begin, source), __shfl_sync(0xFFFFFFFFu, end, source)};
      visit(next);
      left &= ~next.rows(first);
    }
  }
  return left;
}

// A packet of a row to `to`, aligned for one; 0 beyond the row's end, or all 0 if there is no such row.
template <typename T>
__device__ inline void load_packet(const Head<const T>& head, int64_t row, int col, bool exists, T* to) {
  const T* const from = head.data + row * head.stride + col;
  const int size = exists ? head.size - col : 0;
  if (head.wide) {
    *reinterpret_cast<Packet<T>*>(to) = size > 0 ? *reinterpret_cast<const Packet<T>*>(from) : Packet<T>{};
  } else {
    for (int e = 0; e < Packet<T>::kSize; ++e) to[e] = e < size ? from[e] : T{};
  }
}

// `count` rows of a head to a tile [kRows, kHead]; what they do not fill is 0.
template <int kRows, int kHead, typename T>
__device__ inline void load_rows(const Head<const T>& head, int row, int count, T* tile) {
  constexpr int kPackets = kHead / Packet<T>::kSize;  // of a row
  static_assert(kRows * kPackets % kWarp == 0);
  for (int n = 0; n < kRows * kPackets / kWarp; ++n) {
    const int i = n * kWarp + lane_id(), r = i / kPackets, col = i % kPackets * Packet<T>::kSize;
    load_packet(head, row + r, col, r < count, tile + r * kStride<T, kHead> + col);
  }
}

// Those rows of `c` whose bits are set, to rows of a head that begin at `row`; through those rows of `tile`.
template <int kHead, typename T>
__device__ inline void store_rows(const Accumulators<kHead>& c, uint32_t rows, T* tile, const Head<T>& head, int row) {
  __syncwarp();
  for (int i = 0; i < 4; i += 2) {
    if ((rows >> row_of(i) & 1u) == 0) continue;
    for (int group = 0; group < kHead / 8; ++group)
      store_pair(tile + row_of(i) * kStride<T, kHead> + column_of(group, i), c.v[group][i], c.v[group][i + 1]);
  }
  __syncwarp();
  constexpr int kPackets = kHead / Packet<T>::kSize;
  for (int i = lane_id(); i < kTileRows * kPackets; i += kWarp) {
    const int r = i / kPackets, col = i % kPackets * Packet<T>::kSize, size = head.size - col;
    if ((rows >> r & 1u) == 0 || size <= 0) continue;
    const T* const from = tile + r * kStride<T, kHead> + col;
    T* const to = head.data + (row + r) * head.stride + col;
    if (head.wide) {
      *reinterpret_cast<Packet<T>*>(to) = *reinterpret_cast<const Packet<T>*>(from);
    } else {
      for (int e = 0; e < smaller(Packet<T>::kSize, size); ++e) to[e] = from[e];
    }
  }
}

// Of a tile's four lanes that hold the same rows.
__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xFFFFFFFFu, x, 1);
  return x + __shfl_xor_sync(0xFFFFFFFFu, x, 2);
}

// Threads of a block, whose warps have their own `Tiles` of shared memory: as many as fit in what every GPU grants.
template <typename Tiles>
inline constexpr int kThreads = std::clamp<int>(96 * 1024 / static_cast<int>(sizeof(Tiles)), 1, 4) * kWarp;
template <typename Tiles>
inline constexpr int kWarps = kThreads<Tiles> / kWarp;

// Blocks that a multiprocessor's registers must suffice for; 0 leaves it to the compiler, who for the sums of f32 would
// rather spill some than have fewer blocks.
template <typename T>
inline constexpr int kMinBlocks = std::is_same_v<T, float> ? 1 : 0;

template <typename Tiles>
__device__ inline Tiles& tiles_of_warp() {
  return shared_memory<Tiles>()[threadIdx.x / kWarp];
}

// The first row of the calling warp's tile, when tiles have `tile_rows` rows.
template <typename Tiles>
__device__ inline int first_row(int tile_rows) {
  return (static_cast<int>(blockIdx.x) * kWarps<Tiles> + static_cast<int>(threadIdx.x) / kWarp) * tile_rows;
}

// A warp for every tile of `rows` rows of each head.
template <typename Tiles, typename Parameters>
void launch_tiles(Context& ctx, const char* name, void (*kernel)(Parameters), int64_t rows, int tile_rows,
                  int64_t heads, const Parameters& parameters) {
  const dim3 grid(blocks_for(rows, int64_t{tile_rows} * kWarps<Tiles>), static_cast<unsigned>(heads));
  launch(ctx, name, kernel, grid, dim3(kThreads<Tiles>), kWarps<Tiles> * sizeof(Tiles), parameters);
}

// f(std::integral_constant<int, kHead>), kHead the columns that a head of `size` has in a tile.
template <typename F>
void for_head_size(int64_t size, const F& f) {
  if (size <= 16) return f(std::integral_constant<int, 16>{});
  if (size <= 32) return f(std::integral_constant<int, 32>{});
  if (size <= 64) return f(std::integral_constant<int, 64>{});
  f(std::integral_constant<int, kMaxHead>{});
}

}  // namespace weft::cuda::attention
