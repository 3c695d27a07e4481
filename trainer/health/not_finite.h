// trainer/health/not_finite.h: finds the first parameter whose gradient is not finite.
#pragma once

#include <string>

#include "model/parameters/param_store.h"

namespace weft {

// Describes this rank's first gradient, in order of declaration, that is not finite: "decoder.0.ffn.in.weight is nan at
// [3, 17] (not finite: 2 of 512 values)". The indices refer to this rank's slice. Returns "" if all gradients are
// finite. Waits for the device.
std::string first_gradient_not_finite(Context& ctx, const ParamStore& params);

}  // namespace weft
