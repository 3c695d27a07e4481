// trainer/run/recovery.h: ends a run whose model has diverged, or goes back to good parameters (train.on_divergence).
//
// Every rank owns a Recovery object and makes the same calls.
#pragma once

#include <functional>
#include <string>

#include "trainer/run/run_checkpoints.h"
#include "trainer/run/run_context.h"
#include "trainer/run/validator.h"

namespace weft {

class Recovery {
 public:
  Recovery(const RunContext& run, RunCheckpoints& checkpoints, Validator& validator)
      : run_(run), checkpoints_(checkpoints), validator_(validator) {}

  // Call it after each step. Throws an Error of kind diverged, which ends the run, if the run has diverged and cannot
  // go back to a good checkpoint.
  void observe(const StepReport& report);
  // Runs `part`, which is a part of a save or a validation. If it throws an Error of kind diverged, because a number of
  // the model is not finite, guard() goes back to a good checkpoint and runs `part` again.
  void guard(const std::function<void()>& part);

 private:
  void go_back(const std::string& reason);

  const RunContext& run_;
  RunCheckpoints& checkpoints_;
  Validator& validator_;
};

}  // namespace weft
