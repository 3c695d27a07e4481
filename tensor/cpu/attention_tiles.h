// tensor/cpu/attention_tiles.h: attention of bf16 tensors with AMX: one head of one sentence, as attention.cpp has it.
//
// Products are of bf16 and summed in f32. Scores, probabilities and gradients of scores are f32 until they become a
// product's factor: then they are rounded to bf16, as the tensors themselves are.
#pragma once

#include <limits>

#include "tensor/cpu/attention.h"
#include "tensor/cpu/tiles.h"
#include "tensor/elementary.h"

namespace weft::cpu {

// Floats of scratch memory for a sentence of so many keys.
size_t forward_tiles_scratch(int64_t keys, int64_t head_size);
size_t backward_tiles_scratch(int64_t keys, int64_t head_size);

// For k.count() > 0, and in backward q.count() > 0; where has_amx().
void forward_head_tiles(const ops::AttentionForward& a, int64_t head, Rows q, Rows k, float* memory);
void backward_head_tiles(const ops::AttentionBackward& a, int64_t head, Rows q, Rows k, float* memory);

#if defined(__AVX512BW__)

// Hands out scratch memory, each piece for a matrix filled up to whole tiles. Without memory it only counts.
class Pieces {
 public:
  explicit Pieces(float* memory = nullptr) : memory_(memory) {}
  float* floats(int64_t rows, int64_t cols) {
    float* const piece = memory_ ? memory_ + used_ : nullptr;
    used_ += static_cast<size_t>(round_up_to_halves(rows) * round_up_to_halves(cols));
    return piece;
  }
  BFloat16* halves(int64_t rows, int64_t cols) {
    return reinterpret_cast<BFloat16*>(floats(rows, round_up_to_halves(cols) / 2));
  }
  size_t used() const { return used_; }

 private:
  float* memory_;
  size_t used_ = 0;
};

inline Vec exp_of_lanes(Vec x) {
  Vec y;
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) y[i] = exp_of(x[i]);
  return y;
}

typedef int32_t LaneNumbers __attribute__((vector_size(sizeof(Vec))));
inline constexpr LaneNumbers kLaneNumbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Of all lanes, by halves.
template <typename F>
inline float reduce_lanes(Vec v, const F& f) {
#pragma GCC unroll 4
  for (int32_t distance = kLanes / 2; distance > 0; distance /= 2)
    v = f(v, __builtin_shuffle(v, kLaneNumbers ^ distance));
  return v[0];
}
inline float sum_of_lanes(Vec v) {
  return reduce_lanes(v, [](Vec a, Vec b) { return a + b; });
}
inline Vec larger(Vec a, Vec b) { return a > b ? a : b; }

// Scaled scores; those past `visible` minus infinity.
inline Vec masked_scores(const float* scores, int64_t visible, float scale) {
  const Vec nothing = Vec{} - std::numeric_limits<float>::infinity();
  return kLaneNumbers < static_cast<int32_t>(visible) ? scale * load(scores) : nothing;
}

#endif

}  // namespace weft::cpu
