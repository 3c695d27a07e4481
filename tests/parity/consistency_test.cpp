// tests/parity/consistency_test.cpp: losses and gradients of SimCut and R-Drop equal PyTorch's, with the same masks.
#include <gtest/gtest.h>

#include "model/transformer.h"
#include "tests/parity/reference_model.h"
#include "tests/support/block_loss.h"
#include "tests/support/compare.h"

namespace weft::testing {
namespace {

class PytorchConsistency : public ::testing::TestWithParam<Consistency> {};

TEST_P(PytorchConsistency, HasTheSameLossesAndEveryGradient) {
  const ReferenceFile file("consistency.h5", name_of_enum(GetParam()));
  const ModelConfig config = config_of(file);
  const auto weights = parameters_of(file, "weights", config), want = parameters_of(file, "gradients", config);
  const LossOptions options{.smoothing = file.number("smoothing"),
                            .consistency = GetParam(),
                            .weight = file.number("weight"),
                            .cut_rate = GetParam() == Consistency::simcut ? file.number("rate") : 0};
  for (const int tp : {1, 2}) {
    SCOPED_TRACE(fmt::format("tp {}", tp));
    run_thread_ranks(tp, [&](Communicator& world) {
      set_num_threads(1);
      SmallModel m(config, world, /*seed=*/1);
      put(m.ctx, weights, m.params);
      const Block block = block_of(file);
      Pass p = m.pass(/*block=*/0, /*training=*/true, /*loss_scale=*/1 / block.target_weight());
      const RowLoss rows = m.model->loss_and_gradients(p, m.model->load(p, block), options, nullptr);
      const BlockLoss sums = sum_of(m.ctx, rows);
      const BlockLoss divergence = sum_of(m.ctx, {.loss = rows.divergence, .nll = rows.divergence});
      const auto got = gather(m.ctx, m.params, world, /*gradients=*/true);
      if (world.rank() != 0) return;
      expect_close_in_norm(Doubles{sums.loss}, file.numbers("loss"), kTolerance, 0, "loss");
      expect_close_in_norm(Doubles{sums.nll}, file.numbers("nll"), kTolerance, 0, "nll");
      expect_close_in_norm(Doubles{divergence.loss}, file.numbers("divergence"), kTolerance, 0, "divergence");
      ASSERT_EQ(got.size(), want.size());
      for (const auto& [name, gradient] : want)
        expect_close_in_norm(got.at(name), gradient, kTolerance, 0, ("gradient of " + name).c_str());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, PytorchConsistency, ::testing::Values(Consistency::simcut, Consistency::rdrop),
                         [](const auto& info) { return std::string(name_of_enum(info.param)); });

}  // namespace
}  // namespace weft::testing
