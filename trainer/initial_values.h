// trainer/initial_values.h: loads the initial parameters of a new run from a checkpoint (train.init). The weights are
// those that translation would use. Optimizer state and data position are not loaded.
#pragma once

#include <string>

#include "data/order/mix.h"
#include "trainer/checkpoint/file_layout.h"
#include "trainer/replica.h"

namespace weft {

// Fills `values`, the first element of flat_states(), with this rank's slices. All ranks call it. Returns the
// checkpoint's folder, which rank 0 resolves from `path` and leases until all ranks have read it. Throws an Error that
// names train.init if the checkpoint is damaged, contains a different model, or was trained with a different tokenizer
// than `corpus`.
std::string initial_values_from(Replica& replica, const FlatState& values, const std::string& path,
                                const ModelConfig& model, const MixCorpus& corpus);

}  // namespace weft
