// trainer/import/foreign_vocabulary.h: gives the entries of another program's vocabulary Weft's order of ids.
//
// In Weft, ids 0, 1 and 2 are unknown, begin and end of sentence (data/batch.h). An imported model gets these ids by
// moving rows of its tables and pieces of its SentencePiece model. No number changes, because a segmentation and a
// softmax do not depend on the order.
//
// Vocabulary and model may differ. Pieces that the vocabulary lacks remain in the model, but stand for unknown
// (PieceList::entries). Entries that the model lacks are tags, or belong to the other side. The latter become unused
// pieces: text is not divided into them, but unknown characters may equal one, as in transformers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct ForeignVocabulary {
  std::vector<std::string> tokens;  // by their ids; "": an id without a name
  std::vector<bool> tags;           // by the same ids: whether a token is a tag, unless it is a piece of the model
  int64_t unknown = -1, eos = -1;
  int64_t start = -1;           // the decoder's first input; -1: zeros
  int64_t bos = -1;             // -1: there is none
  int64_t padding = -1;         // the same
  bool has_padding_row = true;  // false: leave padding out, because its probability is 0
};

struct ImportedVocabulary {
  std::vector<int64_t> rows;  // for each of our ids, the foreign id, or ForeignModel::kNewRow
  std::string tokenizer;      // SentencePiece model in our order
};

struct ImportedVocabularies {
  ImportedVocabulary source, target;  // equal if one tokenizer serves both sides
};

// `sentencepiece` is the content of `file`. Throws an Error of kind checkpoint or data that names `file`.
ImportedVocabulary import_vocabulary(const ForeignVocabulary& vocabulary, std::string_view sentencepiece,
                                     const std::string& file);

}  // namespace weft
