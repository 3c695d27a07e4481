// trainer/export/names/ctranslate2_names.h: the names and shapes of Weft's parameters in CTranslate2's TransformerSpec.
//
// The names come from python/ctranslate2/specs/transformer_spec.py and attention_spec.py, release 4.8.5. Matrices are
// [out, in], as in Weft. Tied tables have one entry; their other names are aliases in the file.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"
#include "trainer/export/names/foreign_tensor.h"

namespace weft {

inline constexpr const char* kCtranslate2Source = "encoder/embeddings_0/weight";
inline constexpr const char* kCtranslate2Target = "decoder/embeddings/weight";
inline constexpr const char* kCtranslate2Output = "decoder/projection/weight";

int8_t ctranslate2_activation(Activation activation);  // a value of CTranslate2's ops::ActivationType

std::vector<ForeignTensor> ctranslate2_names(const ModelConfig& config);

}  // namespace weft
