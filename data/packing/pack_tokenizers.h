// data/packing/pack_tokenizers.h: writes the tokenizers of a corpus to its folder: given models, or models trained on
// sampled lines.
//
// A joint vocabulary is one file, tokenizer.model, if both sides normalize text by the same rule. Otherwise it is two
// files, source.model and target.model, which differ only in this rule.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/packing/pack_folder.h"
#include "data/packing/packer.h"
#include "data/packing/pair_variants.h"
#include "data/shards/manifest.h"
#include "data/subword/train_tokenizer.h"
#include "data/tokenizer.h"

namespace weft {

struct SampledLines {  // lines of each side that train the tokenizer
  LineSampler source, target;
  int64_t size() const { return static_cast<int64_t>(source.lines().size() + target.lines().size()); }
};

std::vector<std::string> reserved_tags(const PackOptions& options);  // tags that a trained tokenizer contains

class PackTokenizers {
 public:
  PackTokenizers(const PackOptions& options, const PackFolder& folder, const SampledLines& sample);
  static bool needs_training(const PackOptions& o) { return o.tokenizer.empty() && o.source_tokenizer.empty(); }

  const Tokenizer& source() const { return source_->tokenizer; }
  const Tokenizer& target() const { return target_model().tokenizer; }
  std::unique_ptr<PairVariants> variants(const PackOptions& options, const PackFolder& folder) const;
  Manifest manifest() const;  // sets only the fields of the tokenizers

 private:
  struct Model {
    std::string file, sha256;
    Tokenizer tokenizer;
  };
  static Model write(const PackFolder& folder, const char* file, const std::string& model);
  void train_joint(const PackOptions& options, const PackFolder& folder, const SampledLines& sample);
  const Model& target_model() const { return target_ ? *target_ : *source_; }

  std::optional<Model> source_, target_;  // without target_, source_ is for both sides
};

}  // namespace weft
