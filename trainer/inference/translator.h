// trainer/inference/translator.h: translates sentences, which are divided among the data-parallel ranks.
//
// All ranks of the world must call translate_inputs() with the same sentences, and each rank gets all translations. A
// source is truncated to longest_source() tokens, and num_cut() counts truncated sources. The translation of a line
// without text is empty, and its score is the log probability of eos right after the tags. A translation depends only
// on its sentence, not on the batch size, the order of sentences or dp.
//
// A forced prefix is the given start of a translation. It consists of tags (data/tags.h), which are not part of the
// translation's text, followed by text. The log probability, score and length limit do not include prefix tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/corpus.h"
#include "data/tokenizer.h"
#include "model/decoding/parallel_search.h"
#include "trainer/inference/search_config.h"
#include "trainer/replica.h"

namespace weft {

struct Translation {
  std::string text;
  double score = 0;               // log_prob / length penalty, or the expected utility of minimum Bayes risk
  double log_prob = 0;            // natural logarithm, including eos
  std::vector<int32_t> tokens;    // prefix and text, without eos
  int32_t end = SpecialIds::eos;  // the token after `tokens`; a separator between lines of a document
  std::vector<double> log_probs;  // of each token after the prefix, and of `end`; log_prob is their sum, in this order
};
using NBest = std::vector<Translation>;  // at least one; best first, but samples in the order of their numbers

struct TaggedLine {
  std::string text;
  std::string tag, target_tag;  // names of tags, separated by spaces
  std::string prefix;           // text with which the translation must start
};

struct TranslationInput {
  std::vector<int32_t> source;  // tags and text, without eos; without text, the translation has none
  std::vector<int32_t> prefix;  // forced prefix: tags and text
};
// Throws a usage Error if a tokenizer lacks a tag. A line without text gets its tags, but no text as prefix.
TranslationInput encode_line(const TaggedLine& line, const Tokenizer& source, const Tokenizer& target);

struct EncodedPair {
  PairIds ids;        // with tags
  int64_t given = 0;  // the first target tokens, which are not scored: tags and prefix
};
EncodedPair encode_pair(const TaggedLine& line, const std::string& target_text, const Tokenizer& source,
                        const Tokenizer& target);

class Translator {
 public:
  // `batch` is the number of sentences that a rank decodes at the same time; 0: as many as fit. It affects only speed.
  // The models have the same vocabularies and the same mesh. Throws a usage Error for invalid options.
  Translator(const std::vector<const Replica*>& replicas, const Tokenizer& source, const Tokenizer& target,
             const SearchConfig& config, int64_t batch = 0);
  Translator(const Replica& replica, const Tokenizer& source, const Tokenizer& target, const DecodeConfig& config,
             int64_t batch = 0)
      : Translator({&replica}, source, target, SearchConfig{.decode = config}, batch) {}

  using Progress = std::function<void(int64_t sentences_done)>;  // sentences of this call, estimated over ranks
  // Throws a data Error if a prefix has more than longest_prefix() tokens.
  std::vector<NBest> translate_inputs(std::vector<TranslationInput> inputs, const Progress& progress = {});

  TranslationInput encode(const TaggedLine& line) const { return encode_line(line, source_, target_); }
  const Mesh& mesh() const { return mesh_; }
  const Tokenizer& source_tokenizer() const { return source_; }
  const Tokenizer& target_tokenizer() const { return target_; }
  // `tokens` includes eos, but not the `forced` tokens of a prefix.
  double score_of(double log_prob, int64_t tokens, int64_t forced) const;
  bool has_text(const TranslationInput& input) const;  // not only tags
  bool is_cut(const TranslationInput& input) const { return std::ssize(input.source) > longest_source(); }
  bool lists_several() const { return config_.num_translations() > 1; }
  // Returns the pair whose attention explains a translation, without tokens if the input has no text.
  PairIds pair_of(const TranslationInput& input, const Translation& translation) const;
  int64_t longest_source() const { return search_.longest_source(); }
  int64_t longest_prefix() const { return search_.longest_target(); }
  int64_t num_cut() const { return num_cut_; }  // sentences truncated since construction

 private:
  std::vector<std::vector<Hypothesis>> search(const std::vector<TranslationInput>& inputs,
                                              const std::vector<size_t>& mine, const Progress& progress);
  int64_t max_tokens(const TranslationInput& input) const;
  int64_t min_tokens(const TranslationInput& input) const;

  const Mesh& mesh_;
  const Tokenizer &source_, &target_;
  SearchConfig config_;
  ParallelSearch search_;
  int64_t num_cut_ = 0;
};

}  // namespace weft
