// tests/trainer/plan/stop_notice_test.cpp: when the plan warns of a launcher that does not wait for a save.
#include "trainer/plan/stop_notice.h"

#include <gtest/gtest.h>

#include "tests/support/variable.h"

namespace weft {
namespace {

using testing::Variable;

std::string notice(const char* ranks, const char* seconds, const char* launch) {
  const Variable size("OMPI_COMM_WORLD_SIZE", ranks), timeout("OMPI_MCA_odls_base_sigkill_timeout", seconds),
      by_launch(kLaunchVariable, launch);
  return stop_notice();
}

TEST(StopNotice, WarnsUnderABareMpirunThatKillsSoon) {
  EXPECT_EQ(notice("4", nullptr, nullptr),
            "mpirun kills the ranks 1 s after Ctrl-C, even in a step or a save; to wait, use `weft launch -n 4 "
            "train ...`");
  EXPECT_NE(notice("4", "5", nullptr).find("5 s after"), std::string::npos);
}

TEST(StopNotice, IsSilentWhereTheLauncherWaits) {
  EXPECT_EQ(notice("4", nullptr, "1"), "");
  EXPECT_EQ(notice("4", "600", nullptr), "");
  EXPECT_EQ(notice(nullptr, nullptr, nullptr), "");
  EXPECT_EQ(notice("1", nullptr, nullptr), "");
}

}  // namespace
}  // namespace weft
