// trainer/training_checkpoints.h: saves a trainer and its data position while training continues, and resumes.
//
// Every rank owns a TrainingCheckpoints object and makes the same calls.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint_saver.h"
#include "trainer/stages/training_data.h"
#include "trainer/trainer.h"

namespace weft {

class TrainingCheckpoints {
 public:
  TrainingCheckpoints(const RunConfig& config, const Mesh& mesh, Trainer& trainer, TrainingData& data);
  ~TrainingCheckpoints();

  // Fills in the current state of the trainer and the data. The caller fills in the rest. The cursor contains only this
  // rank's streams.
  void snapshot(TrainState& state) const;

  // Starts to save the checkpoint of `state.step` under `root`, with `config_text` as config.cfg. The save continues
  // during the next steps, tracked by saver(). Then a thread of the main rank calls `after_commit` with the folder.
  void start_save(const std::string& root, const TrainState& state, const std::string& config_text,
                  std::function<void(const std::string&)> after_commit = {}, bool yields = true);
  CheckpointSaver& saver() { return saver_; }

  // Continues from a checkpoint. Returns its state with the cursor of this rank's streams, and sets `changes` to one
  // line per change of the data stages since the checkpoint. REQUIRES: the main rank has verified it.
  TrainState resume(const std::string& checkpoint, std::vector<std::string>& changes);
  // Loads parameters, moments, average and loss scale of an earlier step, but keeps the step count and data position.
  void go_back_to(const std::string& checkpoint);

 private:
  TrainState read_state(const std::string& checkpoint) const;
  StepCursor cursor_of_all_ranks(const StepCursor& own) const;

  const Mesh& mesh_;
  Trainer& trainer_;
  TrainingData& data_;
  const int64_t blocks_;
  CheckpointSaver saver_;
};

}  // namespace weft
