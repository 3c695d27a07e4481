// trainer/training_checkpoints.h: saves a trainer and its data during the next steps, and resumes from checkpoints.
//
// Every rank owns one and makes the same calls.
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

  // Fills in the current state of the trainer and the data; the caller fills in the rest. The cursor contains only this
  // rank's streams.
  void snapshot(TrainState& state) const;

  // Starts to save checkpoint `state.step` under `root`, with the text of config.cfg. The save runs during the next
  // steps. On the main rank a thread calls `after_commit` with the checkpoint's folder. saver() tracks the save.
  void start_save(const std::string& root, const TrainState& state, const std::string& config_text,
                  std::function<void(const std::string&)> after_commit = {}, bool yields = true);
  CheckpointSaver& saver() { return saver_; }

  // Continues from a checkpoint. Returns its state with the cursor of this rank's streams, and adds one line to
  // `changes` per change of the data stages since then. REQUIRES: the world's main rank has verified the checkpoint.
  TrainState resume(const std::string& checkpoint, std::vector<std::string>& changes);
  // Loads only parameters, moments, average and loss scale of an earlier step. Steps and data position continue.
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
