// trainer/validation/validation.h: quality of the model on the validation sets: loss of their pairs, BLEU and chrF of
// translations.
//
// [decode] selects greedy or beam search; search and scorer are those of `weft evaluate`. References are the
// text of the set's tokens, so this BLEU differs from that of the raw text where the tokenizer's
// normalisation changed a character.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "trainer/inference/evaluate.h"
#include "trainer/inference/model_loader.h"
#include "trainer/trainer.h"
#include "trainer/validation/samples.h"
#include "trainer/validation/validation_command.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

struct SetReport {
  std::string name;                                   // empty: the only set, which has none
  std::map<std::string, double, std::less<>> values;  // of kValidationMetrics, by their keys: those that were measured
};

struct ValidationReport {
  int64_t step = 0;
  std::vector<SetReport> sets;      // in the order of data.valid; at least one
  std::vector<SampleText> samples;  // train.samples of each set
  std::optional<SampleAttention> attention;
  std::vector<SetTexts> texts;  // of each set, with train.validate_command

  // By their keys in log.jsonl: those of the first set without a name, those of named sets with it.
  std::map<std::string, double> numbers() const;
};

// If the numbers of the validation after `step` are better than the best so far, they become the best. The result is
// whether they are among the best `keep`. What the rule cannot judge counts as no validation.
bool note_score(const std::map<std::string, double>& numbers, int64_t step, const BestRule& rule, int64_t keep,
                BestScore& best);

class Validation {
 public:
  // `sets` are open. Communicates nothing.
  Validation(const RunConfig& config, const std::vector<ValidationSet>& sets, const Mesh& mesh, Trainer& trainer);
  ~Validation();

  // Whether to validate after this step, which may be the run's last; never twice after the same step.
  bool due(int64_t step, bool last) const;
  // With the weights for evaluation. All ranks call it and get the same. It asks stop(), which agrees between the
  // ranks, every few sentences, and returns nothing once that is true. Error of kind diverged if a loss or a
  // prediction is not finite.
  std::optional<ValidationReport> run(int64_t step, const std::function<bool()>& stop);
  void set_done(int64_t step) { done_ = step; }
  const std::vector<std::string>& remarks() const { return remarks_; }  // lines on the sets for the start of the run

 private:
  struct Set;
  void read_noisy(const ValidationSet& set, Set& own);
  SetTexts texts_of(const Set& set, const std::vector<Translation>& translations) const;
  bool translate(Set& set, const std::function<bool()>& stop, ValidationReport& report);

  RunConfig config_;
  const Mesh& mesh_;
  Trainer& trainer_;
  LossTotal losses_;
  Tokenizers tokenizers_;
  std::vector<std::unique_ptr<Set>> sets_;
  std::vector<std::string> remarks_;
  std::unique_ptr<Translator> translator_;  // none without BLEU
  int64_t done_ = -1;                       // the last step that was validated
};

}  // namespace weft
