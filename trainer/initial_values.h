// trainer/initial_values.h: initial parameters of a new run from a checkpoint (train.init): the weights that
// translation would use. Its optimizer state and data position are not used.
#pragma once

#include <string>

#include "data/order/mix.h"
#include "trainer/checkpoint/file_layout.h"
#include "trainer/replica.h"

namespace weft {

// Fills `values`, the first of flat_states(), with each rank's slices; all ranks call it. Returns the checkpoint's
// folder, which rank 0 resolves from `path` (resolve_checkpoint). A damaged checkpoint, another model, or a tokenizer
// other than that of `corpus`, of the training data, is an Error that names train.init.
std::string initial_values_from(Replica& replica, const FlatState& values, const std::string& path,
                                const ModelConfig& model, const MixCorpus& corpus);

}  // namespace weft
