// trainer/validation/validation_scores.h: gives all ranks the scores of train.validate_command.
//
// Every rank owns a ValidationScores object and makes the same calls. The main rank runs the command.
// TrainState::scores_due lists the validations without a score, so they are scored when a run resumes.
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
  std::map<std::string, double> numbers;  // numbers of the validation, including its scores
};

class ValidationScores {
 public:
  static constexpr size_t kMaxDue = 4;  // limits the texts and checkpoints that are kept

  ValidationScores(const TrainConfig& config, const std::vector<ValidationSet>& sets, Communicator& world);

  // Call it after a validation. Returns false if kMaxDue validations are already waiting, so this one gets no score.
  bool add(const ValidationReport& report, TrainState& state);
  void resume(const TrainState& state);  // queues the validations in state.scores_due
  // Returns the validations whose scores or failure have arrived, ordered by step, and removes them from scores_due.
  // The result is the same on all ranks. Communicates only if scores are due.
  std::vector<ScoredValidation> take(TrainState& state);
  void stop();                                       // ends the command until take() starts it again
  void drop_after(int64_t step, TrainState& state);  // drops validations of steps that are undone
  // Removes texts that a resumed run does not need, because the newest checkpoint (`saved_step`) contains their scores.
  void remove_texts(int64_t saved_step);

 private:
  Communicator& world_;
  std::optional<ValidationCommand> command_;  // only on the main rank
  std::map<int64_t, int64_t> scored_at_;      // step of a validation -> step at which its score arrived
};

}  // namespace weft
