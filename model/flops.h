// model/flops.h: counts the FLOPs of a model per token as usual (Kaplan et al. 2020, section 2.1; Narayanan et al.
// 2021, appendix): a multiply-add counts as 2, and the backward pass as twice the forward pass. Recomputation and
// everything except matmuls (norms, softmax, dropout, look-ups) are not counted.
//
// The forward pass needs these FLOPs, where D is the width, F the feed-forward width, V the target vocabulary, E and L
// the number of encoder and decoder layers, S and T the tokens of source and target with eos, G = kv_heads / heads, and
// M = 2 matrices per feed-forward layer, or 3 if it is gated:
//   source token  2 E ((2 + 2 G) D^2 + M D F) + 4 E D S    its encoder layers and their attention
//               + 2 L 2 G D^2                              its keys and values for the decoder's cross-attention
//   target token  2 L ((4 + 2 G) D^2 + M D F) + 2 D V      its decoder layers, the output projection
//               + 4 L D (T + 1) / 2 + 4 L D S              attention to the (T + 1) / 2 tokens before it on average,
//                                                          and cross-attention
// Attention does 2 D operations per pair of query and key for the scores, and 2 D for the values. Padded vocabulary
// columns and unused rows are not counted, because the model does not need them.
#pragma once

#include "model/config.h"

namespace weft {

struct TokenFlops {
  double source = 0, target = 0;
  double pair() const { return source + target; }  // one source and one target token
  TokenFlops operator*(double factor) const { return {source * factor, target * factor}; }
};

TokenFlops forward_flops(const ModelConfig& config, double source_length, double target_length);

inline constexpr double kTrainingPasses = 3;  // forward, gradients of activations, gradients of parameters

}  // namespace weft
