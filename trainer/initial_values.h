// trainer/initial_values.h: a new run that begins with the parameters of a checkpoint (train.init) instead of random
// ones: nothing else is taken from it, neither optimizer nor place in the data.
#pragma once

#include <string>

#include "trainer/replica.h"

namespace weft {

// Fills each rank's slices; all ranks call it. Returns the checkpoint's folder, which rank 0 finds where `path` leads
// (resolve_checkpoint). What is wrong with it, another model, or another tokenizer than the training data was packed
// with, is one clear Error that names train.init.
std::string initial_values_from(Replica& replica, const std::string& path, const RunConfig& config);

}  // namespace weft
