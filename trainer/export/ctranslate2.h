// trainer/export/ctranslate2.h: exports a model to CTranslate2, as model.bin, config.json, vocabularies and tokenizers.
#pragma once

#include "trainer/export/exported_model.h"

namespace weft {

// Throws an Error of kind usage if the two vocabularies have different pieces for unknown tokens, or for the start or
// end of a sentence, because CTranslate2 uses the same piece on both sides. Every other model can be exported.
void export_ctranslate2(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
