// trainer/export/names/huggingface_names.h: the names and shapes of Weft's parameters in transformers' encoder-decoder
// models.
//
// The classes of Marian, Pegasus, BART, mBART and M2M-100 (also NLLB) use the same names (transformers 5.23.0,
// models/*/modeling_*.py). They differ in the tensors that a model has: only some have final norms, norms of embeddings
// or trained positions. Matrices are [out, in], as in Weft.
#pragma once

#include <vector>

#include "model/config.h"
#include "trainer/export/names/foreign_tensor.h"

namespace weft {

// The shapes lack the rows that transformers adds for padding or before the first position. REQUIRES:
// NormKind::layer, no gated units and no grouped-query attention.
std::vector<ForeignTensor> huggingface_names(const ModelConfig& config);

}  // namespace weft
