// trainer/checkpoint/finite.cpp: finds the first value that is not finite and counts such values.
#include "trainer/checkpoint/finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "trainer/checkpoint/safetensors.h"

namespace weft {

std::string describe_not_finite(const float* values, const std::vector<int64_t>& shape) {
  const float* end = values + std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const auto is_bad = [](float v) { return !std::isfinite(v); };
  const float* first = std::find_if(values, end, is_bad);
  if (first == end) return "";
  std::vector<int64_t> place(shape.size());
  int64_t rest = first - values;
  for (size_t i = shape.size(); i-- > 0; rest /= shape[i]) place[i] = rest % shape[i];
  return fmt::format("{} at {} (not finite: {} of {} values)", *first, str(place), std::count_if(first, end, is_bad),
                     end - values);
}

}  // namespace weft
