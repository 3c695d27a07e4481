// trainer/initial_values.h: a new run that begins with the parameters of a checkpoint (train.init) instead of random
// ones: nothing else is taken from it, neither optimizer nor place in the data.
#pragma once

#include <string>

#include "parallel/param_store.h"
#include "trainer/train_state.h"

namespace weft {

// Fills this rank's slices from `folder` (as resolve_checkpoint gives it); each rank calls it by itself. Another model,
// or another tokenizer than `corpus` was packed with, is one clear Error.
void take_initial_values(const std::string& folder, const std::string& corpus, const ModelForm& form,
                         const ParamStore& params);

}  // namespace weft
