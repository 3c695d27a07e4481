// trainer/validation/validation_scores.h: the scores that train.validate_command still owes, agreed between the ranks.
//
// Every rank has one and makes the same calls; the main rank runs the command. TrainState::scores_due has the
// validations without a score so far, so a run that resumes has them scored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "trainer/validation/validation.h"
#include "trainer/validation/validation_command.h"

namespace weft {

struct ScoredValidation {
  CommandScore command;
  std::map<std::string, double> numbers;  // of the validation, with its scores
};

class ValidationScores {
 public:
  static constexpr size_t kMaxDue = 4;  // so that texts and kept checkpoints are bounded

  ValidationScores(const TrainConfig& config, const std::vector<ValidationSet>& sets, Communicator& world);

  // After a validation. Returns false if kMaxDue others wait: then this one has no score.
  bool add(const ValidationReport& report, TrainState& state);
  void resume(const TrainState& state);  // what is due
  // The validations that have got their scores, or a failure, by now: the same on all ranks, in the order of their
  // steps. They are no longer due. Communicates only if some are due.
  std::vector<ScoredValidation> take(TrainState& state);
  void drop_after(int64_t step, TrainState& state);  // validations of steps that are undone
  // Removes texts that no resumed run can need: of validations that `saved_step`, the newest checkpoint, has scored.
  void remove_texts(int64_t saved_step);

 private:
  Communicator& world_;
  std::optional<ValidationCommand> command_;  // on the main rank
  std::map<int64_t, int64_t> scored_at_;      // validation's step -> the step by which it had its score
};

}  // namespace weft
