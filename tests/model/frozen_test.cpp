// tests/model/frozen_test.cpp: frozen parameters change no gradient of the others. Updates of Adam would hide a factor.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

using Gradients = std::map<std::string, std::vector<float>>;

// This rank's gradients of all parameters that train.
Gradients gradients(const FrozenNames& frozen, Communicator& world, bool sequence) {
  ModelConfig config;
  config.width = 16, config.heads = 4, config.feed_forward = 20, config.encoder_layers = config.decoder_layers = 1;
  config.source_vocabulary = config.target_vocabulary = 24, config.bias_output = true;
  config.positions = Positions::learned, config.max_positions = 16;
  config.resolve(world.size());
  Context ctx(test_device());
  const DeviceGroup group(ctx, world);
  const TensorParallel tp(*group);
  ParamStore params(world.rank(), world.size(), DType::f32, test_device(), ParamUse::training, frozen);
  const Transformer model(config, params, /*num_positions=*/16);
  params.allocate();
  params.initialize(ctx, 5);
  ops::fill(ctx, {.x = params.grads()});
  DeviceScalars scalars(test_device());
  scalars.set(ctx, {.step = 3, .loss_scale = 1});
  Arena arena(64 << 20, test_device());
  Pass p{.ctx = ctx,
         .arena = arena,
         .tp = tp,
         .seed = 7,
         .scalars = scalars.get(),
         .training = true,
         .sequence = sequence};
  const Block block = random_blocks(config, 1, 32, 32, 9, 2).front();
  const auto alone = make_single_communicator();
  GradSync sync(ctx, *alone, params.grads(), Shard(params.matrix_numel(), 0, 1, 256));
  sync.begin();
  model.loss_and_gradients(p, model.load(p, block), {.smoothing = 0.1}, &sync);
  sync.wait();
  Gradients all;
  for (const Param& param : params.params())
    if (param.trains()) all[param.spec.name] = to_host<float>(ctx, param.grad);
  return all;
}

struct Freezing {
  const char *name, *pattern;
  bool sums_biases_alone;  // a kernel of its own sums a bias beside a frozen matrix, in another order
};
void PrintTo(const Freezing& f, std::ostream* out) { *out << f.name; }

class FrozenParameters : public ::testing::TestWithParam<Freezing> {};
INSTANTIATE_TEST_SUITE_P(Patterns, FrozenParameters,
                         ::testing::Values(Freezing{"tables", "*embedding.weight", true},
                                           Freezing{"encoder", "encoder.*", false},
                                           Freezing{"positions", "*positions.weight", false},
                                           Freezing{"norms", "*.norm.*", false}, Freezing{"biases", "*.bias", false},
                                           Freezing{"weights", "*.weight", true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(FrozenParameters, LeaveTheGradientsOfTheOthers) {
  for (const auto& [tp, sequence] : {std::pair{1, false}, {2, false}, {2, true}})
    run_thread_ranks(tp, [&, sequence = sequence](Communicator& world) {
      const Gradients all = gradients({}, world, sequence);
      const Gradients some = gradients(FrozenNames({GetParam().pattern}), world, sequence);
      EXPECT_LT(some.size(), all.size());
      EXPECT_GT(some.size(), 0u);
      for (const auto& [name, values] : some) {
        EXPECT_NE(fnmatch(GetParam().pattern, name.c_str(), 0), 0) << name;
        double scale = 1;
        for (const float x : all.at(name)) scale = std::max(scale, std::abs(static_cast<double>(x)));
        const double tolerance = GetParam().sums_biases_alone && name.ends_with(".bias") ? 1e-6 * scale : 0;
        for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], all.at(name)[i], tolerance) << name;
      }
    });
}

}  // namespace
}  // namespace weft::testing
