// trainer/import/huggingface/huggingface_vocabulary.h: reads the tokenizer files of a folder of transformers.
//
// MarianTokenizer keeps two SentencePiece models for segmentation, and the ids in vocab.json (and target_vocab.json).
// M2M100Tokenizer does the same with one model. In the tokenizers of NLLB and mBART, ids are those of the model, but
// shifted by one. In all three, languages follow (transformers 5.23.0 and 4.57, models/*/tokenization_*.py).
#pragma once

#include <string>

#include "trainer/import/foreign_vocabulary.h"
#include "trainer/import/huggingface/huggingface_config.h"

namespace weft {

// Throws an Error of kind checkpoint or data if a file is missing, damaged or not a SentencePiece model, or has ids
// beyond the model's table.
ImportedVocabularies read_huggingface_vocabularies(const std::string& folder, const HuggingFaceConfig& config);

}  // namespace weft
