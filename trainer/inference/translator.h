// trainer/inference/translator.h: translates sentences in order; the data-parallel ranks divide them.
//
// Every rank of the world calls translate() with the same sentences; all get all results. A source longer
// than longest_source() tokens is cut and counted. The translation of an empty line is empty; its score is
// the model's log probability of ending at once. A translation depends on its sentence alone, not on batch
// size, order or dp.
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
  std::vector<int32_t> tokens;  // of the text, without eos
};
using NBest = std::vector<Translation>;  // best first, at least one

BeamOptions beam_options(const DecodeConfig& config);  // an invalid value is an Error of kind usage

class Translator {
 public:
  // `batch`: sentences that a rank decodes at once, 0 = as many as fit; it only changes the speed.
  Translator(const Replica& replica, const Tokenizer& source, const Tokenizer& target, const DecodeConfig& config,
             int64_t batch = 0);

  using Progress = std::function<void(int64_t sentences_done)>;  // in this call, estimated over all ranks
  std::vector<NBest> translate(const std::vector<std::string>& lines, const Progress& progress = {});
  std::vector<NBest> translate_tokens(std::vector<std::vector<int32_t>> sources, const Progress& progress = {});

  std::vector<int32_t> source_tokens(const std::string& line) const;  // cut if too long
  int64_t longest_source() const { return search_.longest_source(); }
  int64_t num_cut() const { return num_cut_; }  // sentences that were too long, since construction
  size_t memory_bytes() const { return search_.memory_bytes(); }

 private:
  int64_t max_tokens(int64_t source_tokens) const;

  const Mesh& mesh_;
  const Tokenizer &source_, &target_;
  DecodeConfig config_;
  BeamSearch search_;
  int64_t num_cut_ = 0;
};

}  // namespace weft
