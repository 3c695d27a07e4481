// tests/support/definition/kinks.h: blocks whose relu inputs are not near 0, so that rounding differences between
// machines cannot make a gradient jump.
#pragma once

#include "tests/support/definition/double_model.h"
#include "tests/support/small_model.h"

namespace weft::testing {

// Far above the f32 rounding error of a few layers, but rarely reached.
inline constexpr double kNearKink = 3e-6;

// The relu input nearest to 0 in a step of run_on_mesh.
inline double nearest_kink(ModelConfig config, const std::vector<Block>& blocks) {
  double nearest = std::numeric_limits<double>::infinity();
  if (config.activation != FeedForwardActivation::relu) return nearest;
  config.resolve(1);
  const auto alone = make_single_communicator();
  SmallModel m(config, *alone, kSmallModelSeed, /*arena_bytes=*/0, DType::f32, Device::cpu);
  DoubleParams params;
  for (const Param& p : m.params.params())
    params[p.spec.name] = Doubles(p.value.ptr<float>(), p.value.ptr<float>() + p.numel());
  for (const Block& block : blocks) {
    const Pass p = m.pass(block.index);
    const Masks masks{.seed = p.seed, .step = p.scalars->step, .block = p.scalars->block, .training = p.training};
    const DoubleModel model(config, params, masks);
    model.loss(block, 0);
    nearest = std::min(nearest, model.layers().nearest_kink());
  }
  return nearest;
}

// random_blocks with the first seed that has none near a kink.
inline std::vector<Block> random_blocks_off_kinks(const ModelConfig& config, int count, int64_t source_rows,
                                                  int64_t target_rows, int max_length) {
  for (uint64_t seed = 1;; ++seed) {
    std::vector<Block> blocks = random_blocks(config, count, source_rows, target_rows, max_length, seed);
    if (nearest_kink(config, blocks) > kNearKink) return blocks;
  }
}

}  // namespace weft::testing
