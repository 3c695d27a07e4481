// tests/parity/training_test.cpp: ten steps of Adam with warm-up and clipping give the losses and weights of
// PyTorch's Adam and AdamW.
#include <gtest/gtest.h>

#include "tests/parity/reference_model.h"
#include "tests/support/compare.h"
#include "trainer/optimizer/optimizer.h"
#include "trainer/optimizer/schedule.h"
#include "trainer/step/step_totals.h"

namespace weft::testing {
namespace {

struct Training {
  Doubles losses, grad_norms;
  std::map<std::string, std::vector<float>> weights;
};

Training train(const ReferenceFile& file, const std::vector<Block>& blocks, int tp) {
  const ModelConfig config = config_of(file);
  const auto initial = parameters_of(file, "weights", config);
  const OptimizerConfig options{.beta1 = file.number("beta1"),
                                .beta2 = file.number("beta2"),
                                .eps = file.number("eps"),
                                .weight_decay = file.number("weight_decay"),
                                .clip_norm = file.number("clip_norm")};
  const ScheduleConfig schedule{.lr = file.number("lr"), .warmup = file.integer("warmup")};
  Training result;
  run_thread_ranks(tp, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = 1, .tp = tp});
    set_num_threads(1);
    SmallModel m(config, mesh.tp(), /*seed=*/1);
    put(m.ctx, initial, m.params);
    Optimizer optimizer(m.params, options);
    const StepSums sums(test_device());
    Training t;
    for (int64_t step = 0; step < file.integer("steps"); ++step) {  // like Trainer::step
      const Block& block = blocks[static_cast<size_t>(step) % blocks.size()];
      const auto tokens = static_cast<double>(block.target_tokens());
      ops::fill(m.ctx, {.x = m.params.grads()});
      Pass p = m.pass(0, /*training=*/true, /*loss_scale=*/1 / tokens);
      const RowLoss rows =
          m.model->loss_and_gradients(p, m.model->load(p, block), {.smoothing = file.number("smoothing")}, nullptr);
      t.losses.push_back(sum_of(m.ctx, rows).loss / tokens);
      sums.clear(m.ctx);
      optimizer.add_squares(m.ctx, sums.split_squares(), sums.whole_squares());
      StepTotals own;
      sums.read(m.ctx, own);
      const double norm = std::sqrt(exchange_totals(own, mesh).gradient_square());
      t.grad_norms.push_back(norm);
      StepScalars scalars;
      optimizer.next_step(scalars, learning_rate(schedule, step, file.integer("steps")),
                          clip_scale(norm, options.clip_norm));
      m.scalars.set(m.ctx, scalars);
      optimizer.update(m.ctx, m.scalars.get());
    }
    t.weights = gather(m.ctx, m.params, mesh.tp(), /*gradients=*/false);
    if (world.rank() == 0) result = std::move(t);
  });
  return result;
}

// A constant added to all keys does not change the softmax, so the true gradient of a key bias is zero; Adam
// normalises its rounding noise to full random steps. Every other weight must be the same.
template <typename T>
std::vector<T> without_key_bias(const std::string& name, std::vector<T> values) {
  const auto at = [&](size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  const size_t n = values.size();
  if (name.ends_with(".qkv.bias")) values.erase(at(n / 3), at(2 * n / 3));
  if (name.ends_with(".kv.bias")) values.erase(at(0), at(n / 2));
  return values;
}

class PytorchTraining : public ::testing::TestWithParam<const char*> {};

TEST_P(PytorchTraining, TakesTheSameTenSteps) {
  const ReferenceFile file("training.h5", GetParam());
  std::vector<Block> blocks;
  for (const char* batch : {"batch_0", "batch_1", "batch_2"})
    blocks.push_back(block_of(ReferenceFile("training.h5", batch)));
  const auto want = parameters_of(file, "final_weights", config_of(file));
  const Doubles norms = file.numbers("grad_norms");
  ASSERT_GT(*std::max_element(norms.begin(), norms.end()), file.number("clip_norm"));
  ASSERT_LT(*std::min_element(norms.begin(), norms.end()), file.number("clip_norm"));  // clipped, and not

  for (int tp : {1, 2}) {
    SCOPED_TRACE(fmt::format("tp {}", tp));
    const Training got = train(file, blocks, tp);
    expect_close_in_norm(got.losses, file.numbers("losses"), kTolerance, 0, "losses");
    expect_close_in_norm(got.grad_norms, norms, kTolerance, 0, "gradient norms");
    ASSERT_EQ(got.weights.size(), want.size());
    for (const auto& [name, weights] : want)
      expect_close_in_norm(without_key_bias(name, got.weights.at(name)), without_key_bias(name, weights), kTolerance, 0,
                           name.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, PytorchTraining, ::testing::Values("adam", "adamw"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft::testing
