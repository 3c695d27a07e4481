// trainer/inference/translator.h: translates sentences in order. The data-parallel ranks divide them.
//
// Every rank of the world calls translate() with the same sentences, and all get all results. A source longer than
// longest_source() tokens is truncated and counted. The translation of an empty line is empty, and its score is the
// model's log probability of ending at once. A translation does not depend on batch size, other sentences or dp.
//
// A forced prefix is the start of the translation, which the model continues: tags (data/tags.h), which are not part of
// its text, or text. Its tokens do not count in log probability, score and the length limit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "model/decoding/beam_search.h"
#include "trainer/replica.h"

namespace weft {

struct Translation {
  std::string text;
  double score = 0;             // log_prob / length penalty; n-best lists are ordered by it
  double log_prob = 0;          // natural logarithm, eos included
  std::vector<int32_t> tokens;  // prefix and text, without eos
};
using NBest = std::vector<Translation>;  // best first, at least one

struct TaggedLine {
  std::string text;
  std::string tag, target_tag;  // names of tags, separated by spaces
  std::string prefix;           // text that the translation starts with
};

struct TranslationInput {
  std::vector<int32_t> source;  // tokens with tags, without eos; empty: the translation is empty
  std::vector<int32_t> prefix;  // forced
};
// Throws a usage Error for a tag that a tokenizer lacks. A line without text gets no tags and no prefix.
TranslationInput encode_line(const TaggedLine& line, const Tokenizer& source, const Tokenizer& target);

BeamOptions beam_options(const DecodeConfig& config);  // throws an Error of kind usage for an invalid value

class Translator {
 public:
  // `batch` is the number of sentences that a rank decodes at once, 0 = as many as fit; it changes only the speed.
  Translator(const Replica& replica, const Tokenizer& source, const Tokenizer& target, const DecodeConfig& config,
             int64_t batch = 0);

  using Progress = std::function<void(int64_t sentences_done)>;  // in this call, estimated over all ranks
  // Throws a data Error for a prefix above longest_prefix() tokens.
  std::vector<NBest> translate_inputs(std::vector<TranslationInput> inputs, const Progress& progress = {});

  TranslationInput encode(const TaggedLine& line) const { return encode_line(line, source_, target_); }
  const Tokenizer& source_tokenizer() const { return source_; }
  const Tokenizer& target_tokenizer() const { return target_; }
  int64_t longest_source() const { return search_.longest_source(); }
  int64_t longest_prefix() const { return search_.longest_target(); }
  int64_t num_cut() const { return num_cut_; }  // sentences that were truncated, since construction
  size_t memory_bytes() const { return search_.memory_bytes(); }

 private:
  int64_t max_tokens(const TranslationInput& input) const;

  const Mesh& mesh_;
  const Tokenizer &source_, &target_;
  DecodeConfig config_;
  BeamSearch search_;
  int64_t num_cut_ = 0;
};

}  // namespace weft
