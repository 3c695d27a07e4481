// trainer/run/recovery.h: what a run does about a model that has diverged: it ends, or goes back to good parameters
// (train.on_divergence).
//
// Every rank has one and makes the same calls.
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

  // After each step. An Error of kind diverged ends the run if it has diverged and may not go back.
  void observe(const StepReport& report);
  // Runs a part of a save, or a validation. A model with numbers that are not finite has diverged, too, and is not
  // committed: then the run goes back, and the part runs again.
  void guard(const std::function<void()>& part);

 private:
  void go_back(const std::string& reason);

  const RunContext& run_;
  RunCheckpoints& checkpoints_;
  Validator& validator_;
};

}  // namespace weft
