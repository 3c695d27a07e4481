// trainer/checkpoint/finite.h: describes the values of a tensor that are not finite, for error messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Returns, for example, "nan at [3, 17] (not finite: 2 of 512 values)" with the first index, or "" if all are finite.
std::string describe_not_finite(const float* values, const std::vector<int64_t>& shape);

}  // namespace weft
