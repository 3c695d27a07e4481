// data/subword/train_tokenizer.h: trains a SentencePiece model on sampled lines.
//
// The model is BPE with byte fallback (Sennrich et al. 2016; Kudo & Richardson 2018). Its ids are 0 unknown, 1 begin, 2
// end of sentence, 256 bytes, characters and merges. Equal lines give equal models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/subword/normalization.h"

namespace weft {

// Draws a uniform sample of lines in bounded memory (reservoir sampling), a pure function of the lines and the seed. It
// skips empty lines, and divides lines longer than 4,192 bytes, which SentencePiece would ignore, at spaces.
class LineSampler {
 public:
  LineSampler(int64_t capacity, uint64_t seed) : capacity_(capacity), seed_(seed) {}
  void add(std::string_view line);  // REQUIRES: valid UTF-8
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void add_part(std::string_view part);

  int64_t capacity_;
  uint64_t seed_;
  int64_t num_seen_ = 0;
  std::vector<std::string> lines_;
};

struct TokenizerTraining {
  int64_t vocab_size = 8000;
  double character_coverage = 0.9999;  // share of the text's characters in the vocabulary; the rest become bytes
  std::vector<std::string> tags;       // reserved as control pieces (data/tags.h)
  Normalization normalization = Normalization::identity;
};

// Returns the bytes of the model file. If the lines do not suffice for the vocabulary, or need a larger one, throws a
// usage Error with the limit of --vocab-size.
std::string train_tokenizer(const std::vector<std::string>& lines, const TokenizerTraining& training);

}  // namespace weft
