// tests/trainer/config/nearest_test.cpp: misspelt names.
#include "trainer/config/nearest.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("train", "train"), 0);
  EXPECT_EQ(edit_distance("trian", "train"), 2);
}

TEST(NearestName, FindsAMisspelling) {
  EXPECT_EQ(nearest_name("tranlsate", {"train", "translate", "evaluate"}), "translate");
}

TEST(NearestName, IsEmptyForATextTooLongForAName) {
  const std::string text(200, 'a');
  EXPECT_EQ(nearest_name(text, {text}), "");
}

TEST(NearestName, IsEmptyForSomethingElse) { EXPECT_EQ(nearest_name("xyzzy", {"train", "translate"}), ""); }

TEST(NearestName, LooksThroughAMissingOrWrongSection) {
  EXPECT_EQ(nearest_name("width", {"model.width", "train.seed"}), "model.width");
  EXPECT_EQ(nearest_name("optimizer.warmup", {"optimizer.eps", "schedule.warmup"}), "schedule.warmup");
}

}  // namespace
}  // namespace weft
