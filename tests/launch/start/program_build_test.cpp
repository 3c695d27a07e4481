// tests/launch/start/program_build_test.cpp: ranks of different builds.
#include "launch/start/program_build.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "trainer/version.h"

namespace weft {
namespace {

TEST(ProgramBuild, HasTheVersionAndTheLibraries) {
  const std::string build = program_build();
  EXPECT_TRUE(build.starts_with(std::string("weft ") + kVersion + "-")) << build;
  EXPECT_TRUE(testing::holds(build, "libweft_tensor")) << build;
  EXPECT_TRUE(testing::holds(build, "libmpi")) << build;
  EXPECT_FALSE(testing::holds(build, "unknown")) << build;
}

TEST(ProgramBuild, DiffersInAPartThatBothHave) {
  EXPECT_EQ(build_difference("weft 1-aa, libmpi.so bb", "weft 1-aa, libmpi.so bb"), "");
  EXPECT_EQ(build_difference("weft 1-aa, libmpi.so bb", "weft 1-aa, libmpi.so cc"), "libmpi.so cc instead of bb");
  EXPECT_EQ(build_difference("weft 1-aa, v4/libweft.so bb", "weft 1-aa, v3/libweft.so cc"), "");
}

TEST(ProgramBuild, OfOneRankEndsAllRanks) {
  int refused = 0;
  run_thread_ranks(3, [&](Communicator& world) {
    const std::string message = testing::message_of(
        ErrorKind::usage, [&] { require_same_build(world.rank() == 1 ? "weft 0.1.9-bb" : "weft 0.2.0-aa", world); });
    EXPECT_TRUE(testing::holds(message, "rank 1 on " + host_name() + " runs weft 0.1.9-bb instead of 0.2.0-aa"));
    if (world.rank() == 0) ++refused;
  });
  EXPECT_EQ(refused, 1);
}

TEST(ProgramBuild, OfAllRanksMayBeTheSame) {
  run_thread_ranks(2, [](Communicator& world) { EXPECT_NO_THROW(require_same_build(program_build(), world)); });
}

}  // namespace
}  // namespace weft
