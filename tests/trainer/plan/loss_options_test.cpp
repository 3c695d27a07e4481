// tests/trainer/plan/loss_options_test.cpp: weights and rates of consistency losses: their defaults, and what is
// refused.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "trainer/plan/check_options.h"

namespace weft::testing {
namespace {

TEST(LossOptions, ThatHaveNoEffectAreRefused) {
  const auto refusal = [&](Consistency kind, double weight, double rate, double dropout) {
    RunConfig c;
    c.data.train = "packed";
    c.train.consistency = kind, c.train.consistency_weight = weight, c.train.consistency_rate = rate;
    c.model.dropout = dropout;
    return message_of(ErrorKind::usage, [&] { check_options(c, parse_stages(c), BestRule(c.train.keep_best, {})); });
  };
  EXPECT_EQ(refusal(Consistency::none, 3, 0, 0.1),
            "train.consistency_weight = 3 has no effect without train.consistency: set that to simcut or rdrop, or the "
            "weight to 0");
  EXPECT_EQ(refusal(Consistency::rdrop, 0, 0.1, 0.1),
            "train.consistency_rate = 0.1 applies only to train.consistency = simcut: set it to 0");
  EXPECT_EQ(refusal(Consistency::rdrop, 0, 0, 0),
            "train.consistency = rdrop compares passes with different dropout, but every rate of dropout is 0: set "
            "model.dropout");
  EXPECT_EQ(refusal(Consistency::simcut, 1e39, 0, 0.1), "train.consistency_weight = 1e+39 must be at most 1e6");
  EXPECT_EQ(refusal(Consistency::simcut, 0, 1e-9, 0.1),
            "train.consistency_rate = 1e-09 is less than 2^-17, so it cuts nothing");
}

TEST(LossOptions, HaveThePapersWeightsUnlessOthersAreGiven) {
  TrainConfig train{.consistency = Consistency::simcut};
  EXPECT_EQ(train.loss_options().weight, 3);
  EXPECT_EQ(train.loss_options().cut_rate, 0.05);
  train.consistency_weight = 2, train.consistency_rate = 0.1;
  EXPECT_EQ(train.loss_options().weight, 2);
  EXPECT_EQ(train.loss_options().cut_rate, 0.1);
  train.consistency = Consistency::rdrop, train.consistency_weight = 0;
  EXPECT_EQ(train.loss_options().weight, 5);
  EXPECT_EQ(train.loss_options().cut_rate, 0);
}

}  // namespace
}  // namespace weft::testing
