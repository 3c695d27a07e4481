// trainer/validation/validation.h: measures the model on the validation sets: loss, BLEU and chrF.
//
// [decode] selects greedy or beam search. Search and scoring are the same as in `weft evaluate`. References are decoded
// tokens of the set, so this BLEU differs from that on the raw text if normalization changed a character.
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
  std::map<std::string, double, std::less<>> values;  // of the measured kValidationMetrics, by key
};

struct ValidationReport {
  int64_t step = 0;
  std::vector<SetReport> sets;      // in the order of data.valid; at least one
  std::vector<SampleText> samples;  // train.samples per set
  std::optional<SampleAttention> attention;
  std::vector<SetTexts> texts;  // per set, with train.validate_command

  // Returns numbers by their keys in log.jsonl: of the first set without its name, and of named sets with their names.
  std::map<std::string, double> numbers() const;
};

// Updates `best` if the validation after `step`, with these numbers, is better. Returns whether it is among the `keep`
// best ones. A validation that the rule cannot judge does not count.
bool note_score(const std::map<std::string, double>& numbers, int64_t step, const BestRule& rule, int64_t keep,
                BestScore& best);

class Validation {
 public:
  // Does not communicate. REQUIRES: `sets` are open.
  Validation(const RunConfig& config, const std::vector<ValidationSet>& sets, const Mesh& mesh, Trainer& trainer);
  ~Validation();

  // True if this step, the run's last one if `last`, is due for validation; never twice for the same step.
  bool due(int64_t step, bool last) const;
  // Validates with the weights for evaluation. All ranks call it and get the same result. Every few sentences it calls
  // stop(), which must agree between the ranks, and returns nullopt once stop() is true. Throws an Error of kind
  // diverged if a loss or a prediction is not finite.
  std::optional<ValidationReport> run(int64_t step, const std::function<bool()>& stop);
  void set_done(int64_t step) { done_ = step; }
  const std::vector<std::string>& remarks() const { return remarks_; }  // about the sets, for the start of the run

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
