// launch/options/tokenizer_options.h: options for existing SentencePiece models, one for both sides or one per side.
#pragma once

#include <string>

#include "launch/options/options.h"

namespace weft {

// check_tokenizer_files() checks their combination (data/tokenizer.h).
inline void add_tokenizer_options(Options& options, std::string& joint, std::string& source, std::string& target) {
  options.add("tokenizer", joint, "existing SentencePiece model for both sides");
  options.add("source-tokenizer", source, "existing SentencePiece model for the source; needs --target-tokenizer");
  options.add("target-tokenizer", target, "existing SentencePiece model for the target; needs --source-tokenizer");
}

}  // namespace weft
