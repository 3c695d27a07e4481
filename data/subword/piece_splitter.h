// data/subword/piece_splitter.h: splits text into the pieces of any SentencePiece model (Kudo & Richardson 2018).
//
// A Tokenizer (data/tokenizer.h) needs a model with Weft's special ids; a PieceSplitter accepts other models as well.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/subword/piece_list.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace weft {

// `model` is the content of the file `name`. Both throw a data Error if it is not a SentencePiece model.
PieceList load_sentencepiece(const std::string& model, const std::string& name,
                             sentencepiece::SentencePieceProcessor& processor);
void require_sentencepiece(const std::string& model, const std::string& name);

class PieceSplitter {  // several threads may call split
 public:
  explicit PieceSplitter(const std::string& model_file);
  PieceSplitter(const std::string& model, const std::string& name);  // `model` is the content of the file `name`
  ~PieceSplitter();
  PieceSplitter(PieceSplitter&&) noexcept;

  std::vector<std::string> split(std::string_view text) const;  // an unknown character is a piece of its own text

 private:
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace weft
