// data/packing/pack_tokenizers.cpp: trains or copies tokenizer models.
#include "data/packing/pack_tokenizers.h"

#include <algorithm>

#include "data/atomic_file.h"
#include "data/sha256.h"
#include "data/tags.h"

namespace weft {
namespace {

using Lines = std::vector<std::string>;

std::string train(const PackOptions& o, const Lines& lines, Normalization normalization) {
  return train_tokenizer(lines, {.vocab_size = o.vocab_size,
                                 .character_coverage = o.character_coverage,
                                 .tags = reserved_tags(o),
                                 .normalization = normalization});
}

void append_normalized(const Lines& from, Normalization rule, Lines& to) {
  const Normalizer normalize(rule);
  for (const std::string& line : from) to.push_back(normalize(line));
}

}  // namespace

std::vector<std::string> reserved_tags(const PackOptions& options) {
  std::vector<std::string> names = tag_names(options.reserve_tags, "--reserve-tags");
  if (options.documents > 0 && std::ranges::find(names, kSeparator) == names.end()) names.push_back(kSeparator);
  return names;
}

PackTokenizers::PackTokenizers(const PackOptions& o, const PackFolder& folder, const SampledLines& sample) {
  if (!o.tokenizer.empty()) {
    source_.emplace(write(folder, "tokenizer.model", read_file(o.tokenizer)));
  } else if (!o.source_tokenizer.empty()) {
    source_.emplace(write(folder, "source.model", read_file(o.source_tokenizer)));
    target_.emplace(write(folder, "target.model", read_file(o.target_tokenizer)));
  } else if (o.separate_vocabularies) {
    source_.emplace(write(folder, "source.model", train(o, sample.source.lines(), o.source_normalization)));
    target_.emplace(write(folder, "target.model", train(o, sample.target.lines(), o.target_normalization)));
  } else {
    train_joint(o, folder, sample);
  }
}

PackTokenizers::Model PackTokenizers::write(const PackFolder& folder, const char* file, const std::string& model) {
  write_file_atomically(folder.working(file), model);
  return {.file = file, .sha256 = sha256_of(model), .tokenizer = Tokenizer(folder.working(file))};
}

// SentencePiece applies one rule to all lines. If there are two, the lines are normalized before.
void PackTokenizers::train_joint(const PackOptions& o, const PackFolder& folder, const SampledLines& sample) {
  Lines lines;
  if (o.source_normalization == o.target_normalization) {
    lines = sample.source.lines();
    lines.insert(lines.end(), sample.target.lines().begin(), sample.target.lines().end());
    source_.emplace(write(folder, "tokenizer.model", train(o, lines, o.source_normalization)));
    return;
  }
  append_normalized(sample.source.lines(), o.source_normalization, lines);
  append_normalized(sample.target.lines(), o.target_normalization, lines);
  const std::string model = train(o, lines, Normalization::identity);
  source_.emplace(write(folder, "source.model", with_normalization(model, o.source_normalization)));
  target_.emplace(write(folder, "target.model", with_normalization(model, o.target_normalization)));
}

std::unique_ptr<PairVariants> PackTokenizers::variants(const PackOptions& options, const PackFolder& folder) const {
  if (options.variants.count == 0) return nullptr;
  return std::make_unique<PairVariants>(options.variants, options.seed, source(), folder.working(source_->file),
                                        target(), folder.working(target_model().file));
}

Manifest PackTokenizers::manifest() const {
  Manifest m;
  m.joint_vocabulary = !target_ || same_pieces(source(), target());
  m.source_vocabulary = source().size();
  m.target_vocabulary = target().size();
  m.source_tokenizer = source_->file;
  m.target_tokenizer = target_model().file;
  m.source_tokenizer_sha256 = source_->sha256;
  m.target_tokenizer_sha256 = target_model().sha256;
  return m;
}

}  // namespace weft
