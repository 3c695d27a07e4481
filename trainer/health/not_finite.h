// trainer/health/not_finite.h: finds where the gradients of a step stopped being finite.
#pragma once

#include <string>

#include "model/parameters/param_store.h"

namespace weft {

// Returns "decoder.0.ffn.in.weight is nan at [3, 17] (not finite: 2 of 512 values)" for the first gradient of this
// rank, in order of declaration, that is not finite, or "". Indices refer to the rank's slice. Waits for the device.
std::string first_gradient_not_finite(Context& ctx, const ParamStore& params);

}  // namespace weft
