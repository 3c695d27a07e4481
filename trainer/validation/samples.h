// trainer/validation/samples.h: the same few sentences of the validation set, translated at each validation, and the
// cross-attention of one of them.
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
  std::string set;  // its name; empty: the first or only one
  std::string source, reference, hypothesis;
};

// Of a sample's hypothesis, by teacher forcing: the mean over the heads of the last layer.
struct SampleAttention {
  size_t sample = 0;                        // its index
  std::vector<std::string> source, target;  // tokens with eos
  std::vector<float> weights;               // [target, source]; a row sums to 1
};

class Samples {
 public:
  Samples() = default;
  // The set's first `count` sentences, or all if there are fewer. `set`, `tokenizers` and `trainer` outlive this.
  Samples(int64_t count, const HeldOutSet& set, const Tokenizers& tokenizers, Trainer& trainer);

  // Of the set with this name in the log.
  std::vector<SampleText> texts(const std::vector<Translation>& translations, const std::string& set) const;
  size_t size() const { return count_; }

  // Uses the arena of training, and is empty if no sample is short enough for a picture or the arena has no room. All
  // ranks call it and get the same; it communicates within the tp group.
  std::optional<SampleAttention> attention(const std::vector<Translation>& translations);

 private:
  bool arena_has_room();

  const HeldOutSet* set_ = nullptr;
  const Tokenizers* tokenizers_ = nullptr;
  Trainer* trainer_ = nullptr;
  size_t count_ = 0;
  int64_t rows_ = 0;                // of the block of the picture's pair
  std::optional<size_t> pictured_;  // the sample of the picture
};

}  // namespace weft
