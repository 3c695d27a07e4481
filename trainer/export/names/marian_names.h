// trainer/export/names/marian_names.h: the names and shapes of Weft's parameters in Marian's transformer.
//
// Names come from src/models/transformer.h and src/layers/output.cpp of marian-nmt/marian-dev, version 1.12. Matrices
// are [in, out], the transpose of Weft's, and vectors are [1, size]. Blocks are numbered from 1.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "trainer/export/names/foreign_tensor.h"

namespace weft {

inline constexpr double kMarianEps = 1e-6;  // eps of Marian's layer norm

struct MarianTables {  // names of the tables; several may be the same tensor
  std::string source = "encoder_Wemb", target = "decoder_Wemb";
  std::string output = "decoder_ff_logit_out_Wt";  // [V, D]; with tied tables it is not used
  bool output_transposed = false;                  // old models: "decoder_ff_logit_out_W" [D, V]
};
MarianTables marian_tables(Tying tying);

// REQUIRES: NormKind::layer, no gated units and no grouped-query attention.
std::vector<ForeignTensor> marian_names(const ModelConfig& config, const MarianTables& tables);

}  // namespace weft
