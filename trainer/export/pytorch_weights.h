// trainer/export/pytorch_weights.h: maps Weft's parameters to the names and fused shapes of PyTorch's nn.Transformer.
//
// docs/pytorch.md contains the table, and trainer/export/weft_transformer.py loads the file. A PyTorch tensor is a
// reshaped parameter, or several parameters concatenated along dimension 0 (for example, cross-attention's in_proj is
// q, then kv). A bias that the model lacks is a tensor of zeros. A tied table appears under each of its names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/parameters/param_store.h"

namespace weft {

struct PytorchTensor {
  std::string name;                 // "decoder.layers.0.multihead_attn.in_proj_weight"
  std::vector<int64_t> shape;       // [3D, D]
  std::vector<const Param*> parts;  // concatenated, row-major; empty: zeros
};

// Throws an Error of kind usage if nn.Transformer cannot express this model because of RMSNorm, embedding norms, gated
// feed-forward layers, grouped-query attention or rotary positions.
void require_pytorch_model(const ModelConfig& config);

// Returns every tensor of the state_dict. REQUIRES: `params` belong to a Transformer with this `config` and tp = 1.
std::vector<PytorchTensor> pytorch_layout(const ModelConfig& config, const ParamStore& params);

}  // namespace weft
