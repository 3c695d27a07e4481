// trainer/run/validator.h: decides when a validation is due, which checkpoint is best, and when patience is out.
//
// Every rank owns a Validator and makes the same calls.
#pragma once

#include <memory>
#include <string>

#include "trainer/run/run_checkpoints.h"
#include "trainer/run/run_context.h"
#include "trainer/validation/validation.h"
#include "trainer/validation/validation_scores.h"

namespace weft {

class Validator {
 public:
  Validator(const RunContext& run, RunCheckpoints& checkpoints);

  void resume();                             // continues from run.state, and removes files of earlier starts
  std::vector<std::string> remarks() const;  // about the validation sets; shown at the start
  // Validates the current step if a validation is due. `last` means that the run ends with this step. Returns false if
  // a stop request came first, so the validation is still due when the run resumes. Throws an Error of kind diverged if
  // a loss or a prediction is not finite.
  bool validate(bool last);
  void take_scores();  // takes scores that train.validate_command has returned since the last call
  // Call it at the end of a run. Returns false if a stop request came first, so scores are still due when the run
  // resumes.
  bool wait_for_scores();
  void stop_command();  // before the last files are written, because the command may have filled the disk
  bool out_of_patience() const;
  void begin_stage();                // call it after the data entered the next stage
  void drop_after(int64_t step);     // drops validations of steps that are undone
  void remove_texts(int64_t saved);  // removes texts that a run resumed from step `saved` does not need

 private:
  std::string record(const std::map<std::string, double>& numbers, int64_t step, bool& is_kept);
  void record_score(const ScoredValidation& scored);

  const RunContext& run_;
  RunCheckpoints& checkpoints_;
  std::unique_ptr<Validation> validation_;    // null without data.valid
  std::unique_ptr<ValidationScores> scores_;  // null without train.validate_command
};

}  // namespace weft
