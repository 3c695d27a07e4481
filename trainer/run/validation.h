// trainer/run/validation.h: quality of the model on the validation set: loss of its pairs, BLEU and chrF of
// translations.
//
// [decode] selects greedy or beam search; search and scorer are those of `weft evaluate`. References are the
// text of the set's tokens, so this BLEU differs from that of the raw text where the tokenizer's
// normalisation changed a character.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "trainer/inference/evaluate.h"
#include "trainer/inference/model_loader.h"
#include "trainer/run/samples.h"
#include "trainer/trainer.h"

namespace weft {

struct ValidationReport {
  int64_t step = 0;
  double loss = 0, nll = 0;                     // a target token, in nats
  std::optional<TranslationScore> translation;  // if train.validate_bleu is not 0
  std::vector<SampleText> samples;              // train.samples of them
  std::optional<SampleAttention> attention;
};

// If the report is better than the best so far, it becomes the best, and the result is true.
bool note_score(const ValidationReport& report, BestMetric metric, BestScore& best);

class Validation {
 public:
  Validation(const RunConfig& config, const Mesh& mesh, Trainer& trainer);  // communicates nothing

  // Whether to validate after this step, which may be the run's last; never twice after the same step.
  bool due(int64_t step, bool last) const;
  // With the weights for evaluation. All ranks call it and get the same. It asks stop(), which agrees between the
  // ranks, every few sentences, and returns nothing once that is true.
  std::optional<ValidationReport> run(int64_t step, const std::function<bool()>& stop);
  void set_done(int64_t step) { done_ = step; }

 private:
  RunConfig config_;
  const Mesh& mesh_;
  Trainer& trainer_;
  LossTotal losses_;
  std::vector<Block> blocks_;  // this dp rank's
  Tokenizers tokenizers_;
  HeldOutSet held_out_;
  std::unique_ptr<Translator> translator_;  // none without BLEU
  Samples samples_;                         // none without BLEU
  int64_t done_ = -1;                       // the last step that was validated
};

}  // namespace weft
