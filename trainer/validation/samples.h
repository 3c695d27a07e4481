// trainer/validation/samples.h: translates the same few sentences of the validation set at each validation, and
// computes the cross-attention of one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/inference/evaluate.h"
#include "trainer/inference/model_loader.h"
#include "trainer/trainer.h"

namespace weft {

struct SampleText {
  std::string set;  // name of the set; empty for the first or only set
  std::string source, reference, hypothesis;
};

// The cross-attention for a sample's hypothesis, with teacher forcing: the mean over the heads of the last layer.
struct SampleAttention {
  size_t sample = 0;                        // index of the sample
  std::vector<std::string> source, target;  // tokens with eos
  std::vector<float> weights;               // [target, source]; a row sums to 1
};

class Samples {
 public:
  Samples() = default;
  // Takes the first `count` sentences of the set, or all if the set has fewer. The arguments must outlive the object.
  Samples(int64_t count, const HeldOutSet& set, const Tokenizers& tokenizers, Trainer& trainer);

  // Returns the texts of the samples. `set` is the set's name in the log.
  std::vector<SampleText> texts(const std::vector<Translation>& translations, const std::string& set) const;
  size_t size() const { return count_; }

  // Returns nullopt if no sample is short enough for a picture, or if the training arena, whose memory is used, is too
  // small. All ranks call it and get the same result. It communicates within the tp group.
  std::optional<SampleAttention> attention(const std::vector<Translation>& translations);

 private:
  bool arena_has_room();

  const HeldOutSet* set_ = nullptr;
  const Tokenizers* tokenizers_ = nullptr;
  Trainer* trainer_ = nullptr;
  size_t count_ = 0;
  int64_t rows_ = 0;                // rows of the block that contains the picture's pair
  std::optional<size_t> pictured_;  // index of the sample in the picture
};

}  // namespace weft
