// trainer/export/weights.cpp: copies parameters and computes tables of positions.
#include "trainer/export/weights.h"

#include <fmt/format.h>

#include "tensor/error.h"
#include "tensor/math.h"

namespace weft {

const Param& Weights::param(const std::string& name) const {
  const Param* p = params_.find(name);
  if (p == nullptr || params_.tp_size() != 1)
    fail(ErrorKind::internal, fmt::format("the model to export lacks a complete parameter {}", name));
  return *p;
}

Values Weights::of(const std::string& name) const {
  const Param& p = param(name);
  const float* first = p.value.ptr<float>();
  return {first, first + p.numel()};
}

Values Weights::part(const std::string& name, int64_t first, int64_t count) const {
  const Param& p = param(name);
  require(first + count <= p.numel(), ErrorKind::internal, "a part exceeds the end of a parameter");
  const float* begin = p.value.ptr<float>() + first;
  return {begin, begin + count};
}

Values Weights::positions(int64_t count) const {
  const PositionLayout layout = sinusoid_layout(config_.positions);
  Values table;
  table.reserve(static_cast<size_t>(count * config_.width));
  for (int64_t row = 0; row < count; ++row)
    for (int64_t column = 0; column < config_.width; ++column)
      table.push_back(static_cast<float>(sinusoid(layout, row + config_.position_offset, column, config_.width)));
  return table;
}

}  // namespace weft
