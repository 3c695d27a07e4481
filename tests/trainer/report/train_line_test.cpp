// tests/trainer/report/train_line_test.cpp: a step in one line, and what of it stays on a narrow terminal.
#include "trainer/report/train_line.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TrainStatus example_status(int64_t step) {
  return {.step = step,
          .total_steps = 2000,
          .fraction = step / 2000.0,
          .loss = 4.25,
          .nll = 2,
          .lr = 7e-4,
          .grad_norm = 0.5,
          .source_tokens_per_second = 12345,
          .target_tokens_per_second = 2.5e6,
          .fill = 0.9951,
          .eta_seconds = 125};
}

TEST(TrainLine, SaysAllOfAStepInOneLine) {
  EXPECT_EQ(train_line(example_status(20)),
            "step 20/2000  loss 4.2500  nll 2.0000  ppl 7.39  lr 7.00e-04  grad 0.500  src 12.3k/s  tgt 2.50M/s  "
            "fill 99.5%  2m 05s left");
}

TEST(TrainLine, HasTheSharesOfKnownLimits) {
  TrainStatus status = example_status(20);
  status.mfu = 0.4126;
  EXPECT_TRUE(train_line(status).ends_with("  fill 99.5%  mfu 41.3%  2m 05s left")) << train_line(status);
  status.roofline = 0.5;
  EXPECT_TRUE(train_line(status).ends_with("  mfu 41.3%  roofline 50.0%  2m 05s left")) << train_line(status);
  status.others = "others use 60 % of the cores";
  EXPECT_TRUE(train_line(status).ends_with("  roofline 50.0%  others use 60 % of the cores  2m 05s left"));
}

TEST(TrainLine, LeavesOutWhatMattersLeastOnANarrowTerminal) {
  TrainStatus status = example_status(20);
  status.mfu = 0.4126, status.roofline = 0.5;
  EXPECT_EQ(train_line(status, 114),
            "step 20/2000  loss 4.2500  nll 2.0000  grad 0.500  tgt 2.50M/s  fill 99.5%  mfu 41.3%  roofline 50.0%  "
            "2m 05s left");
  EXPECT_EQ(train_line(status, 73), "step 20/2000  loss 4.2500  mfu 41.3%  roofline 50.0%  2m 05s left");
  EXPECT_EQ(train_line(status, 0), "step 20/2000  loss 4.2500  2m 05s left");
}

}  // namespace
}  // namespace weft
