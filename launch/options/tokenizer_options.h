// launch/options/tokenizer_options.h: adds options for SentencePiece models, one for both sides or one per side.
#pragma once

#include <string>

#include "launch/options/options.h"

namespace weft {

// After parsing, check_tokenizer_files() checks the combination of these options (data/tokenizer.h).
inline void add_tokenizer_options(Options& options, std::string& joint, std::string& source, std::string& target) {
  options.add("tokenizer", joint, "existing SentencePiece model for both sides");
  options.add("source-tokenizer", source, "existing SentencePiece model for the source; needs --target-tokenizer");
  options.add("target-tokenizer", target, "existing SentencePiece model for the target; needs --source-tokenizer");
}

}  // namespace weft
