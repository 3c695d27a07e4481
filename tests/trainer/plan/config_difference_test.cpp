// tests/trainer/plan/config_difference_test.cpp: which options two .cfg texts disagree about.
#include "trainer/plan/config_difference.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

TEST(ConfigDifference, NamesOptionsWithTheirSections) {
  const auto changed = config_differences("[model]\nwidth = 8\nnorm = post\n\n[train]\nseed = 1\n",
                                          "# of today\n[model]\nwidth = 8\nnorm = pre\n\n[train]\nseed = 2\n");
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[0].name + " " + changed[0].from + " " + changed[0].to, "model.norm post pre");
  EXPECT_EQ(changed[1].name + " " + changed[1].from + " " + changed[1].to, "train.seed 1 2");
}

TEST(ConfigDifference, IgnoresOptionsThatOneVersionDoesNotHave) {
  EXPECT_TRUE(config_differences("[train]\nold = 1\nseed = 3\n", "[train]\nseed = 3\nnew = 2\n").empty());
}

}  // namespace
}  // namespace weft::testing
