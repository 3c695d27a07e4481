// trainer/export/ctranslate2.h: a model as CTranslate2's folder: model.bin, config.json, vocabularies, tokenizers.
#pragma once

#include "trainer/export/exported_model.h"

namespace weft {

// An Error of kind usage if the two vocabularies have different names for unknown, begin or end of sentence:
// CTranslate2 has one name for both. It holds every other form of the model.
void export_ctranslate2(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
