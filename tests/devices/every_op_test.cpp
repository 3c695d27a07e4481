// tests/devices/every_op_test.cpp: every op is compared on both devices.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tensor/ops.h"

namespace weft::testing {
namespace {

// Names of tests "AreTheSameOnBothDevices/gemm" of this program.
std::set<std::string> compared_ops() {
  const std::string prefix = "AreTheSameOnBothDevices/";
  std::set<std::string> names;
  const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *program.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = suite.GetTestInfo(t)->name();
      if (name.starts_with(prefix)) names.insert(name.substr(prefix.size()));
    }
  }
  return names;
}

TEST(EveryOp, IsComparedOnBothDevices) {
  std::set<std::string> all;
#define WEFT_NAME_OF_OP(function, Arguments, ...) all.insert(#function);
  WEFT_OPS(WEFT_NAME_OF_OP)
#undef WEFT_NAME_OF_OP
  all.erase("pack_weight");  // a GPU has no packed layout
  EXPECT_EQ(compared_ops(), all);
}

}  // namespace
}  // namespace weft::testing
