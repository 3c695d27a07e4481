// model/layers/positions.cpp: creates the tables of sinusoids, learned positions and angles.
#include "model/layers/positions.h"

#include <cmath>
#include <vector>

#include "tensor/math.h"

namespace weft {
namespace {

const Param* declare_rows(ParamStore& params, const std::string& name, const ModelConfig& c) {
  const auto stddev = 1.0f / std::sqrt(static_cast<float>(c.width));
  return params.declare(
      {.name = name, .shape = {c.max_positions, c.width}, .init = InitSpec::normal(stddev), .decay = true});
}

// Returns a table [rows, cols], whose row r belongs to position r + offset. Without values in a plan.
Buffer sinusoids(PositionLayout layout, int64_t rows, int64_t cols, int64_t offset, const ParamStore& params) {
  Buffer buffer = params.buffer_of(static_cast<size_t>(rows * cols) * sizeof(float));
  if (params.planned()) return buffer;
  std::vector<float> table;
  table.reserve(static_cast<size_t>(rows * cols));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      table.push_back(static_cast<float>(sinusoid(layout, row + offset, col, cols)));
  Context ctx(params.device());  // only for this copy
  upload(ctx, table.data(), buffer.tensor({rows, cols}));
  ctx.synchronize();
  return buffer;
}

}  // namespace

void RotaryPositions::rotate(Pass& p, const Tensor& x, const Tensor& positions, bool inverse) const {
  ops::rotary(p.ctx, {.x = x,
                      .positions = positions,
                      .table = table_,
                      .y = x,
                      .heads = x.cols() / table_.cols(),
                      .halves = halves_,
                      .inverse = inverse});
}

PositionEncoding::PositionEncoding(ParamStore& params, const ModelConfig& c, int64_t num_positions)
    : max_positions_(c.positions == Positions::learned ? c.max_positions : num_positions) {
  if (c.positions == Positions::learned) {
    source_.learned = declare_rows(params, "source_positions.weight", c);
    target_.learned = declare_rows(params, "target_positions.weight", c);
  } else if (is_rotary(c.positions)) {  // uses the angles of sinusoids with a head's width
    buffer_ = sinusoids(PositionLayout::interleaved, num_positions, c.head_size(), 0, params);
    rotary_.emplace(buffer_.tensor({num_positions, c.head_size()}), c.positions == Positions::rotary_halves);
  } else {
    buffer_ = sinusoids(sinusoid_layout(c.positions), num_positions, c.width, c.position_offset, params);
    source_.sinusoids = target_.sinusoids = buffer_.tensor({num_positions, c.width});
  }
}

}  // namespace weft
