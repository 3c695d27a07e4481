// tests/trainer/cluster/machine_test.cpp: numbers with their origin, and machines that lack some.
#include "trainer/cluster/machine.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

TEST(Constant, IsANumberAndAWord) {
  Constant c;
  EXPECT_TRUE(c.parse("45e9 assumed"));
  EXPECT_EQ(c.value, 45e9);
  EXPECT_EQ(c.origin, ConstantOrigin::assumed);
  EXPECT_TRUE(c.parse("0.5  fitted"));
  EXPECT_EQ(c.origin, ConstantOrigin::fitted);
  EXPECT_TRUE(c.parse("3"));
  EXPECT_EQ(c.origin, ConstantOrigin::given);
}

TEST(Constant, ReadsBackWhatItPrints) {
  const Constant before{.value = 1.25e-6, .origin = ConstantOrigin::measured};
  Constant after;
  EXPECT_TRUE(after.parse(before.text()));
  EXPECT_EQ(after.value, before.value);
  EXPECT_EQ(after.origin, before.origin);
}

TEST(Constant, RefusesOtherTextAndStaysAsItWas) {
  Constant c{.value = 7};
  for (const char* text : {"", "x", "1 guessed", "-1", "inf", "nan", "1e9B", "1 2 assumed", "1 "})
    EXPECT_FALSE(c.parse(text)) << text;
  EXPECT_EQ(c.value, 7);
}

TEST(Machine, NamesTheNumberThatItLacks) {
  const auto refusal = [](const Machine& m, int64_t ranks) {
    return refusal_of(ErrorKind::usage, [&] { check_machine(m, ranks); });
  };
  Machine m;
  EXPECT_EQ(refusal(m, 1), "processor.flops must be above 0 to predict a step: set it in the machine file");
  m.processor.flops = m.processor.update_bandwidth = {1e9};
  EXPECT_EQ(refusal(m, 1), "");
  EXPECT_EQ(refusal(m, 8),
            "node.bandwidth must be above 0 to predict several ranks per node: set it in the machine file");
  m.node.bandwidth = {1};
  EXPECT_EQ(refusal(m, 9), "network.bandwidth must be above 0 to predict several nodes: set it in the machine file");
  m.network.bandwidth = {1};
  EXPECT_EQ(refusal(m, 9), "");
  m.processor.lost_to_collectives = {1.5};
  EXPECT_EQ(refusal(m, 9), "processor.lost_to_collectives = 1.5 must be at most 1");
  m.node.ranks = 0;
  EXPECT_EQ(refusal(m, 9), "node.ranks = 0 must be at least 1");
}

}  // namespace
}  // namespace weft::testing
