// trainer/export/huggingface_names.h: the names and shapes of Weft's parameters in transformers' encoder-decoder
// models.
//
// The classes of Marian, Pegasus, BART, mBART and M2M-100 (also NLLB) use the same names (transformers 5.23.0,
// models/*/modeling_*.py). They differ in the tensors that a model has: only some have final norms, norms of embeddings
// or trained positions. Matrices are [out, in], as in Weft.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

namespace weft {

struct HuggingFaceName {
  // What the first dimension and the last one stand for. W is the model's width D.
  enum Form : uint8_t {
    source_table,  // [V source, W]
    target_table,  // [V target, W]
    output_bias,   // [1, V target]
    positions,     // [positions, W], trained
    width,         // [W]
    from_width,    // [out, W]
    bias,          // [out], of a matrix from_width
    to_width       // [W, in]
  };
  std::string name;  // "model.encoder.layers.0.self_attn.k_proj.weight"
  Form form;
  std::vector<int64_t> shape;  // without the rows that transformers adds, for padding or before the first position
  std::string ours;            // "encoder.0.self_attention.qkv.weight", which may be a bias that the model lacks
  int64_t first = 0;           // the tensor is a part of ours, from this row on
};

// REQUIRES: NormKind::layer, no gated units and no grouped-query attention.
std::vector<HuggingFaceName> huggingface_names(const ModelConfig& config);

}  // namespace weft
