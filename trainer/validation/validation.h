// trainer/validation/validation.h: measures the model on the validation sets: loss, BLEU and chrF.
//
// [decode] selects greedy or beam search. Search and scorer are those of `weft evaluate`. References are the text of
// the set's tokens, so this BLEU differs from the raw text's where the tokenizer's normalization changed a character.
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
  std::string name;                                   // empty: the only set, which has no name
  std::map<std::string, double, std::less<>> values;  // measured ones of kValidationMetrics, by key
};

struct ValidationReport {
  int64_t step = 0;
  std::vector<SetReport> sets;      // in the order of data.valid; at least one
  std::vector<SampleText> samples;  // train.samples per set
  std::optional<SampleAttention> attention;
  std::vector<SetTexts> texts;  // per set, with train.validate_command

  // Returns numbers by their keys in log.jsonl: the first set's without a name, named sets' with it.
  std::map<std::string, double> numbers() const;
};

// Updates the best if the numbers of the validation after `step` are better. Returns whether they are among the best
// `keep`. A validation that the rule cannot judge does not count.
bool note_score(const std::map<std::string, double>& numbers, int64_t step, const BestRule& rule, int64_t keep,
                BestScore& best);

class Validation {
 public:
  // Does not communicate. REQUIRES: `sets` are open.
  Validation(const RunConfig& config, const std::vector<ValidationSet>& sets, const Mesh& mesh, Trainer& trainer);
  ~Validation();

  // True if this step, which may be the run's last, is to be validated; never twice for the same step.
  bool due(int64_t step, bool last) const;
  // Validates with the weights for evaluation. All ranks call it and get the same. Calls stop(), which agrees between
  // the ranks, every few sentences, and returns nothing once it is true. Throws an Error of kind diverged if a loss or
  // a prediction is not finite.
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
  std::unique_ptr<Translator> translator_;  // null without BLEU
  int64_t done_ = -1;                       // the last step that was validated
};

}  // namespace weft
