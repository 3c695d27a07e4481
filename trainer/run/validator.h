// trainer/run/validator.h: the validations of a run: when one is due, what is best, and when patience is out.
//
// Every rank has one and makes the same calls.
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

  void resume();                             // from run.state
  std::vector<std::string> remarks() const;  // lines on the sets for the start of the run
  // Validates the present step if that is due. `last`: the run ends with it. Returns false if a stop was requested
  // first: then it is still due when the run resumes. Error of kind diverged: a loss or a prediction is not finite.
  bool validate(bool last);
  void take_scores();  // which train.validate_command has said since the last call
  // At the end of a run. Returns false if a stop was requested first: then the scores are still due when it resumes.
  bool wait_for_scores();
  bool out_of_patience() const;
  void begin_stage();                // after the data went to the next stage
  void drop_after(int64_t step);     // validations of steps that are undone
  void remove_texts(int64_t saved);  // that no run can need that resumes from the checkpoint of this step

 private:
  std::string record(const std::map<std::string, double>& numbers, int64_t step, bool& is_kept);
  void record_score(const ScoredValidation& scored);

  const RunContext& run_;
  RunCheckpoints& checkpoints_;
  std::unique_ptr<Validation> validation_;    // none without data.valid
  std::unique_ptr<ValidationScores> scores_;  // none without train.validate_command
};

}  // namespace weft
