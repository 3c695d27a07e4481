// launch/options/tokenizer_options.h: options for existing SentencePiece models: --tokenizer for both sides,
// or one for each.
#pragma once

#include <string>

#include "launch/options/options.h"

namespace weft {

// check_tokenizer_files() checks their combination (data/tokenizer.h).
inline void add_tokenizer_options(Options& options, std::string& joint, std::string& source, std::string& target) {
  options.add("tokenizer", joint, "an existing SentencePiece model for both sides");
  options.add("source-tokenizer", source, "an existing model for the source; with --target-tokenizer");
  options.add("target-tokenizer", target, "an existing model for the target; with --source-tokenizer");
}

}  // namespace weft
