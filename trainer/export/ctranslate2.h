// trainer/export/ctranslate2.h: exports a model to CTranslate2: model.bin, config.json, vocabularies, tokenizers.
#pragma once

#include "trainer/export/exported_model.h"

namespace weft {

// Throws an Error of kind usage if the two vocabularies name unknown tokens, or the start or end of a sentence,
// differently, because CTranslate2 uses one name for both sides. Every other model can be exported.
void export_ctranslate2(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
