// tensor/cpu/attention/attention_tiles.h: attention of bf16 tensors with AMX: one head of one sentence, as
// attention.cpp has it.
//
// Products are of bf16 and summed in f32. Scores, probabilities and gradients of scores are f32 until they become a
// product's factor: then they are rounded to bf16, as the tensors themselves are.
#pragma once

#include "tensor/cpu/attention/attention.h"
#include "tensor/cpu/gemm/tile_product.h"

namespace weft::cpu {

// Floats of scratch memory for a sentence of so many keys.
size_t forward_tiles_scratch(int64_t keys, int64_t head_size);
size_t backward_tiles_scratch(int64_t keys, int64_t head_size);

// For k.count() > 0, and in backward q.count() > 0. Need a TileConfig.
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

#endif

}  // namespace weft::cpu
