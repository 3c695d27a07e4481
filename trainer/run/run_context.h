// trainer/run/run_context.h: groups what the parts of a run share: configuration, data, model and state.
//
// Every rank owns a RunContext. The parts change `state` in the same way on all ranks, after the same steps.
#pragma once

#include <memory>

#include "trainer/plan/prepare_run.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_log.h"
#include "trainer/signals.h"
#include "trainer/stages/training_data.h"
#include "trainer/trainer.h"

namespace weft {

struct RunContext {
  const PreparedRun& prepared;
  const Mesh& mesh;
  RunLog& log;
  const SignalWatch& signals;
  TrainingData& data;
  Trainer& trainer;
  TrainState& state;
  const std::unique_ptr<RunFolder>& folder;  // null on other ranks than the main rank, and before the run starts

  const RunConfig& config() const { return prepared.config; }
  const BestRule& best_rule() const { return prepared.best; }
  Communicator& world() const { return mesh.world(); }
  bool is_main_rank() const { return world().is_main_rank(); }
  std::string checkpoints_folder() const { return config().train.output + "/checkpoints"; }
  bool folder_is_lost() const { return folder && folder->is_lost(); }  // false on other ranks than the main rank
  // Throws an Error of kind io if the run's folder was removed or replaced, because files of another run may be there
  // now. All ranks call it before they read or write checkpoints.
  void require_folder() const {
    all_or_none(world(), [&] {
      if (folder) folder->require_own();
    });
  }
  // True if a signal asked any rank to stop, or the run's folder is lost. All ranks call it.
  bool stop_is_requested() const { return world().max(signals.stop_signal() != 0 || folder_is_lost() ? 1 : 0) == 1; }
};

}  // namespace weft
