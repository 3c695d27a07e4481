// trainer/validation/validation.h: measures the model on the validation sets: loss, BLEU and chrF.
//
// Search (options of [decode]) and scoring are the same as in `weft evaluate`. The references are decoded from the
// set's tokens, so BLEU differs from BLEU on the raw text if normalization has changed a character.
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
  std::string name;                                   // empty if the only set has no name
  std::map<std::string, double, std::less<>> values;  // of the measured kValidationMetrics, by their keys
  std::string bleu_signature;                         // empty without BLEU
};

struct ValidationReport {
  int64_t step = 0;
  std::vector<SetReport> sets;      // in the order of data.valid; at least one
  std::vector<SampleText> samples;  // train.samples per set
  std::optional<SampleAttention> attention;
  std::vector<SetTexts> texts;  // one per set; empty without train.validate_command

  // Returns numbers by their keys in log.jsonl. The first set's numbers also have keys without its name.
  std::map<std::string, double> numbers() const;
};

// Updates `best` with the numbers of the validation after `step`. Returns true if the validation is among the `keep`
// best. Returns false, and changes nothing, if a number that the rule needs is missing.
bool note_score(const std::map<std::string, double>& numbers, int64_t step, const BestRule& rule, int64_t keep,
                BestScore& best);

class Validation {
 public:
  // Does not communicate. REQUIRES: `sets` are open.
  Validation(const RunConfig& config, const std::vector<ValidationSet>& sets, const Mesh& mesh, Trainer& trainer);
  ~Validation();

  // True if a validation of this step is due. `last` means that the run ends with this step. No step is due twice.
  bool due(int64_t step, bool last) const;
  // Validates with the weights for evaluation. All ranks call it and get the same result. It calls stop() every few
  // sentences, and returns nullopt once stop() is true. stop() must return the same on all ranks. Throws an Error of
  // kind diverged if a loss or a prediction is not finite.
  std::optional<ValidationReport> run(int64_t step, const std::function<bool()>& stop);
  void set_done(int64_t step) { done_ = step; }
  const std::vector<std::string>& remarks() const { return remarks_; }  // about the sets; shown at the start

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
  std::unique_ptr<Translator> translator_;  // null if BLEU is off
  int64_t done_ = -1;                       // the last step that was validated
};

}  // namespace weft
