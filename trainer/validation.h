// trainer/validation.h: how good the model in training is on the validation set: loss of its pairs, BLEU and chrF of
// translations.
//
// Greedy or beam as [decode] says, by the same search and scorer as `weft evaluate`. References are the text that the
// set's pieces spell, so this BLEU differs from that of the raw text where the tokenizer's normalisation changed a
// character.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trainer/inference/evaluate.h"
#include "trainer/inference/model_loader.h"
#include "trainer/trainer.h"

namespace weft {

struct ValidationReport {
  double loss = 0, nll = 0;                     // a target token, in nats
  std::optional<TranslationScore> translation;  // if train.validate_bleu asks for it
};

class Validation {
 public:
  Validation(const RunConfig& config, const Mesh& mesh, Trainer& trainer);  // communicates nothing
  ValidationReport run();                                                   // all ranks call it and get the same

 private:
  RunConfig config_;
  const Mesh& mesh_;
  Trainer& trainer_;
  LossTotal losses_;
  std::vector<Block> blocks_;  // this dp rank's
  Tokenizers tokenizers_;
  HeldOutSet held_out_;
  std::unique_ptr<Translator> translator_;  // none without BLEU
};

}  // namespace weft
