// trainer/initial_values.h: loads the initial parameters of a new run from a checkpoint (train.init). The weights are
// those that translation would use. Optimizer state and data position are not loaded.
#pragma once

#include <string>

#include "data/order/mix.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/replica.h"

namespace weft {

// Fills `values`, the first element of flat_states(), with this rank's slices. All ranks call it. Returns the
// checkpoint's folder, which rank 0 resolves from `path`, with rank 0's lease. Throws an Error that names train.init if
// the checkpoint is damaged, contains a different model, or was trained with a different tokenizer than `corpus`.
CheckpointLease initial_values_from(Replica& replica, const FlatState& values, const std::string& path,
                                    const ModelConfig& model, const MixCorpus& corpus);

// A run with adapters keeps a copy of the model that it adapts. keep_base() copies the weights of the checkpoint
// `folder` to the run's folder `checkpoints`, on one rank, and load_base() fills the frozen parameters when the run
// resumes.
AdapterState keep_base(const std::string& folder, const std::string& checkpoints, double scale);
void load_base(Replica& replica, const std::string& checkpoint);  // nothing without adapters; all ranks call it

}  // namespace weft
