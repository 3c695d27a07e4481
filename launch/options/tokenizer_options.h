// launch/options/tokenizer_options.h: ready SentencePiece models on the command line: --tokenizer for both sides, or
// one for each.
#pragma once

#include <string>

#include "launch/options/options.h"

namespace weft {

// Which of them may stand together is check_tokenizer_files' to say (data/tokenizer.h).
inline void add_tokenizer_options(Options& options, std::string& joint, std::string& source, std::string& target) {
  options.add("tokenizer", joint, "a ready SentencePiece model for both sides");
  options.add("source-tokenizer", source, "a ready model for the source; with --target-tokenizer");
  options.add("target-tokenizer", target, "a ready model for the target; with --source-tokenizer");
}

}  // namespace weft
