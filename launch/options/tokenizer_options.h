// launch/options/tokenizer_options.h: adds options for SentencePiece models, one for both sides or one per side.
#pragma once

#include <filesystem>
#include <string>

#include "launch/options/options.h"
#include "trainer/checkpoint/checkpoint.h"

namespace weft {

// After parsing, check_tokenizer_files() checks the combination of these options (data/tokenizer.h).
inline void add_tokenizer_options(Options& options, std::string& joint, std::string& source, std::string& target) {
  options.add("tokenizer", joint,
              "existing SentencePiece model for both sides, or the folder of a corpus, run or checkpoint");
  options.add("source-tokenizer", source, "existing SentencePiece model for the source; needs --target-tokenizer");
  options.add("target-tokenizer", target, "existing SentencePiece model for the target; needs --source-tokenizer");
}

// Replaces a folder given as --tokenizer by the one or two models that it contains. Call this after parsing.
inline void find_tokenizers(std::string& joint, std::string& source, std::string& target) {
  namespace fs = std::filesystem;
  if (joint.empty() || !fs::is_directory(joint) || !source.empty() || !target.empty()) return;
  const auto has_models = [](const fs::path& f) {
    return fs::exists(f / "tokenizer.model") || fs::exists(f / "source.model");
  };
  const fs::path folder = has_models(joint) ? joint : resolve_checkpoint(joint);
  joint = (folder / "tokenizer.model").string();
  if (fs::exists(joint) || !fs::exists(folder / "source.model")) return;
  joint.clear();
  source = (folder / "source.model").string();
  target = (folder / "target.model").string();
}

}  // namespace weft
