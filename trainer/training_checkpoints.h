// trainer/training_checkpoints.h: checkpoints of a trainer and its data: saved beside the next steps, and resumed.
//
// Every rank has one and makes the same calls.
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

  // What a checkpoint of this moment says of trainer and data; the caller fills in the rest. The cursor is that of this
  // rank's streams.
  void snapshot(TrainState& state) const;

  // Starts to save checkpoint `state.step` under `root`, with the text of config.cfg. The save goes on beside the next
  // steps; `after_commit` gets its folder, on the main rank, in a thread. saver() follows it.
  void start_save(const std::string& root, const TrainState& state, const std::string& config_text,
                  std::function<void(const std::string&)> after_commit = {}, bool yields = true);
  CheckpointSaver& saver() { return saver_; }

  // Continues from a checkpoint that the world's main rank has verified: the state, with the cursor of this rank's
  // streams. Adds what of the data's stages has changed since to `changes`, one line each.
  TrainState resume(const std::string& checkpoint, std::vector<std::string>& changes);
  // The parameters of an earlier step alone, with moments, average and loss scale; steps and data go on.
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
