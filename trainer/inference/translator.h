// trainer/inference/translator.h: sentences to translations, in order, shared over the data-parallel ranks.
//
// Every rank of the world calls translate() with the same sentences; all get all results. A source longer than
// longest_source() pieces is cut, and counted. A sentence without pieces (an empty line) has the empty translation;
// its score is what the model gives to ending at once. The result of a sentence is a function of the sentence: no batch
// size, order or number of dp ranks changes it.
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
  double score = 0;             // log_prob / length penalty: what n-best lists are ordered by
  double log_prob = 0;          // natural logarithm, end of sentence included
  std::vector<int32_t> pieces;  // that spell the text, without eos
};
using NBest = std::vector<Translation>;  // best first, at least one

BeamOptions beam_options(const DecodeConfig& config);  // a value that makes no sense is an Error of kind usage

class Translator {
 public:
  // `batch`: sentences side by side on a rank, 0 = as many as fit; it changes the speed only.
  Translator(const Replica& replica, const Tokenizer& source, const Tokenizer& target, const DecodeConfig& config,
             int64_t batch = 0);

  using Progress = std::function<void(int64_t sentences_done)>;  // of this call, over all ranks, by estimate
  std::vector<NBest> translate(const std::vector<std::string>& lines, const Progress& progress = {});
  std::vector<NBest> translate_pieces(std::vector<std::vector<int32_t>> sources, const Progress& progress = {});

  std::vector<int32_t> source_pieces(const std::string& line) const;  // what the model reads of it: perhaps cut
  int64_t longest_source() const { return search_.longest_source(); }
  int64_t num_cut() const { return num_cut_; }  // sentences that were too long, since construction
  size_t memory_bytes() const { return search_.memory_bytes(); }

 private:
  int64_t max_pieces(int64_t source_pieces) const;

  const Mesh& mesh_;
  const Tokenizer &source_, &target_;
  DecodeConfig config_;
  BeamSearch search_;
  int64_t num_cut_ = 0;
};

}  // namespace weft
