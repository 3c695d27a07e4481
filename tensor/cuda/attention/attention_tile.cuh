// tensor/cuda/attention/attention_tile.cuh: defines a warp's tile of attention (consecutive rows of one head), and
// copies rows between global and shared memory.
//
// A warp computes up to kTileRows rows of output, for queries or keys. It visits the sentences of these rows in order,
// and reads each sentence's rows of the other side in chunks counted from the sentence's first row. So a row's sums and
// their order depend neither on its sentence's place nor on other sentences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tensor/cuda/attention/attention.h"
#include "tensor/cuda/attention/attention_products.cuh"
#include "tensor/cuda/attention/multiprocessor.cuh"
#include "tensor/cuda/launch.cuh"
#include "tensor/cuda/vector.cuh"
#include "tensor/op/op_formulas.h"

namespace weft::cuda::attention {

// The columns of one head of a matrix [R, N * K] in global memory.
template <typename T>
struct Head {
  T* data;
  int64_t stride;
  int size;   // K
  bool wide;  // every row of every head starts and ends at a multiple of 16 bytes

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
  const int32_t *begin, *end, *of_row;  // of_row may be null
  explicit SentenceRows(const ops::SequenceRanges& s)
      : begin(s.begin.ptr<int32_t>()), end(s.end.ptr<int32_t>()), of_row(vector_of<int32_t>(s.of_row)) {}
};

// A sentence and its rows within a tile.
struct Visit {
  int sentence, begin, end;
  __device__ uint32_t rows(int first) const { return ((1u << (end - begin)) - 1u) << (begin - first); }  // bit per row
};

// Finds the sentences with rows in [first, last), with all lanes of a warp. Sentences do not share rows.
class SentencesOfTile {
 public:
  __device__ SentencesOfTile(const SentenceRows& rows, int num_sentences, int first, int last)
      : rows_(rows), num_sentences_(num_sentences), first_(first), last_(last), left_((1u << (last - first)) - 1u) {
    if (rows.of_row == nullptr) return;
    const int row = first + lane_id();
    begin_ = row < last ? rows.of_row[row] : -1;
    found_ = __ballot_sync(0xFFFFFFFFu, begin_ >= 0);
  }

  // Finds the next sentence, in order of number or, with of_row, of rows. Returns false after the last sentence.
  __device__ bool next(Visit& visit) {
    if (rows_.of_row != nullptr) {  // found_: rows of sentences not visited yet; begin_: sentence of the lane's row
      if (found_ == 0) return false;
      const int row = __ffs(static_cast<int>(found_)) - 1, sentence = __shfl_sync(0xFFFFFFFFu, begin_, row);
      const uint32_t own = __ballot_sync(0xFFFFFFFFu, begin_ == sentence);
      visit = {sentence, first_ + row, first_ + row + __popc(own)};
      found_ &= ~own;
    } else {  // found_: which of the 32 sentences before next_ have rows here; begin_, end_: of the lane's sentence
      while (found_ == 0) {
        if (next_ >= num_sentences_ || left_ == 0) return false;
        const int mine = next_ + lane_id();
        begin_ = mine < num_sentences_ ? std::max<int>(rows_.begin[mine], first_) : last_;
        end_ = mine < num_sentences_ ? smaller(rows_.end[mine], last_) : last_;
        found_ = __ballot_sync(0xFFFFFFFFu, begin_ < end_);
        next_ += kWarp;
      }
      const int source = __ffs(static_cast<int>(found_)) - 1;
      visit = {next_ - kWarp + source, __shfl_sync(0xFFFFFFFFu, begin_, source),
               __shfl_sync(0xFFFFFFFFu, end_, source)};
      found_ &= found_ - 1;
    }
    left_ &= ~visit.rows(first_);
    return true;
  }

  __device__ uint32_t unused_rows() const { return left_; }  // after the last sentence: bits of rows without a sentence

 private:
  const SentenceRows rows_;
  const int num_sentences_, first_, last_;
  uint32_t left_, found_ = 0;
  int begin_ = 0, end_ = 0, next_ = 0;
};

// Copies a packet of a row to `to`, which must be aligned to it. Elements beyond the row's end, or all if !exists, are
// 0.
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

// A lane's packets of a tile [*, kHead] are in one column of packets and in every kRowsAtOnce-th row.
template <typename T, int kHead>
struct LanePackets {
  static constexpr int kPackets = kHead / Packet<T>::kSize, kRowsAtOnce = kWarp / kPackets;  // packets per row
  static_assert(kWarp % kPackets == 0 && kTileRows % kRowsAtOnce == 0);
  int row = lane_id() / kPackets, col = lane_id() % kPackets * Packet<T>::kSize;
};

// Starts to load `count` rows of a head into a tile [kRows, kHead], as a group of copies. The rest of the tile becomes
// 0. A lane starts eight copies at once, because the loop is unrolled and free of branches.
template <int kRows, int kHead, typename T>
__device__ inline void load_rows(const Head<const T>& head, int row, int count, T* tile) {
  const LanePackets<T, kHead> lane;
  T* const to = tile + lane.row * kStride<T, kHead> + lane.col;
  if (head.wide) {
    const T* const from = head.data + lane.col;
    const int stride = static_cast<int>(head.stride);  // 32 bits: one instruction per address, few registers
    const int rows = lane.col < head.size ? count : 0;
#pragma unroll 8
    for (int r = 0; r < kRows; r += lane.kRowsAtOnce)
      copy_async(to + r * kStride<T, kHead>, from + int64_t{row + lane.row + r} * stride, lane.row + r < rows);
  } else {
#pragma unroll 1
    for (int r = 0; r < kRows; r += lane.kRowsAtOnce)
      load_packet(head, row + lane.row + r, lane.col, lane.row + r < count, to + r * kStride<T, kHead>);
  }
  end_copy_group();
}

// Stores the rows of `c` whose bits in `rows` are set to a head, from row `row` on, through the same rows of `tile`.
template <int kHead, typename T>
__device__ inline void store_rows(const Accumulators<kHead>& c, uint32_t rows, T* tile, const Head<T>& head, int row) {
  await_copies<0>();  // waits for the copies to `tile`
  __syncwarp();
  store_tile(c, rows, tile, kStride<T, kHead>);
  __syncwarp();
  const LanePackets<T, kHead> lane;
  const T* const from = tile + lane.row * kStride<T, kHead> + lane.col;
  if (head.wide) {
    T* const to = head.data + lane.col;
    const int stride = static_cast<int>(head.stride);
    if (lane.col >= head.size) rows = 0;
#pragma unroll 8
    for (int r = 0; r < kTileRows; r += lane.kRowsAtOnce) {
      if (rows >> (lane.row + r) & 1u)
        *reinterpret_cast<Packet<T>*>(to + int64_t{row + lane.row + r} * stride) =
            *reinterpret_cast<const Packet<T>*>(from + r * kStride<T, kHead>);
    }
  } else {
#pragma unroll 1
    for (int r = 0; r < kTileRows; r += lane.kRowsAtOnce) {
      T* const to = head.data + (row + lane.row + r) * head.stride + lane.col;
      for (int e = 0; e < Packet<T>::kSize && (rows >> (lane.row + r) & 1u); ++e)
        if (lane.col + e < head.size) to[e] = from[r * kStride<T, kHead> + e];
    }
  }
}

// Returns the sum over the four lanes that hold the same rows.
__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xFFFFFFFFu, x, 1);
  return x + __shfl_xor_sync(0xFFFFFFFFu, x, 2);
}

// The number of threads per block. Each warp has its own `Tiles` in shared memory, whose size limits the number.
template <typename Tiles>
inline constexpr int kThreads = std::clamp<int>(96 * 1024 / static_cast<int>(sizeof(Tiles)), 1, 4) * kWarp;
template <typename Tiles>
inline constexpr int kWarps = kThreads<Tiles> / kWarp;

// The number of blocks per multiprocessor that registers must allow. In half precision, it is the number that shared
// memory allows, at most kMax, because the compiler would otherwise keep the addresses of all copies of a chunk in
// registers. For f32 it is 1, because with more blocks the compiler would spill registers.
template <typename T, size_t kSharedBytes, int kMax>
inline constexpr int kMinBlocks = std::is_same_v<T, float> ? 1
                                                           : std::clamp<int>(kSharedBytesOfMultiprocessor /
                                                                                 (kSharedBytes + kReservedBytesOfBlock),
                                                                             1, kMax);

template <typename Tiles>
__device__ inline Tiles& tiles_of_warp() {
  return shared_memory<Tiles>()[threadIdx.x / kWarp];
}

// Returns the first row of the calling warp's tile, with `tile_rows` rows per tile.
template <typename Tiles>
__device__ inline int first_row(int tile_rows) {
  return (static_cast<int>(blockIdx.x) * kWarps<Tiles> + static_cast<int>(threadIdx.x) / kWarp) * tile_rows;
}

// Calls f(std::integral_constant<int, kHead>), where kHead is the padded size of a head in a tile.
template <typename F>
void for_head_size(int64_t size, const F& f) {
  if (size <= 16) return f(std::integral_constant<int, 16>{});
  if (size <= 32) return f(std::integral_constant<int, 32>{});
  if (size <= 64) return f(std::integral_constant<int, 64>{});
  f(std::integral_constant<int, kMaxHead>{});
}

}  // namespace weft::cuda::attention
