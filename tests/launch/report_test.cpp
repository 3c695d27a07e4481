// tests/launch/report_test.cpp: failures as text and exit status.
#include "launch/report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <system_error>

#include "tensor/error.h"

namespace weft {
namespace {

TEST(Report, IsOneLineForAUsersMistake) {
  const Error e(ErrorKind::usage, "a.cfg:2: model.heads = 3 does not divide model.width = 64");
  EXPECT_EQ(failure_text(e, 0, 1, "host"), "weft: a.cfg:2: model.heads = 3 does not divide model.width = 64\n");
}

TEST(Report, NamesRankAndHostWhenThereAreSeveral) {
  const Error e(ErrorKind::io, "disk full");
  EXPECT_EQ(failure_text(e, 2, 4, "node7"), "weft[rank 2 of 4, node7]: disk full\n");
}

TEST(Report, ShowsWhatWasGoingOnInnermostFirst) {
  ErrorFrame outer("while training step 1200");
  ErrorFrame inner("while reading shard train-003.h5");
  const Error e(ErrorKind::data, "SHA-256 differs");
  EXPECT_EQ(failure_text(e, 0, 1, ""),
            "weft: SHA-256 differs (while reading shard train-003.h5, while training step 1200)\n");
}

TEST(Report, OfASystemErrorIsAFailureOfInputOrOutputOrOfUsage) {
  const std::system_error threads(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_EQ(exit_code_of(threads), 5);
  EXPECT_NE(failure_text(threads, 0, 1, "").find("no thread can be started"), std::string::npos);
  const std::filesystem::filesystem_error name("status", std::make_error_code(std::errc::filename_too_long));
  EXPECT_EQ(exit_code_of(name), 2);
}

TEST(Report, ShowsTheSourceLineOfOurOwnBugsOnly) {
  EXPECT_NE(failure_text(Error(ErrorKind::internal, "x"), 0, 1, "").find("report_test.cpp:"), std::string::npos);
  EXPECT_EQ(failure_text(Error(ErrorKind::data, "x"), 0, 1, "").find("report_test.cpp:"), std::string::npos);
}

TEST(Report, OfTheLowestRankComesFirstAndOfACauseBeforeWhatFollows) {
  const Error cause(ErrorKind::internal, "an illegal memory access"), follows(ErrorKind::peer, "rank 7 has left");
  EXPECT_EQ(delay_before_report(cause, 0).count(), 0);
  EXPECT_LT(delay_before_report(cause, 1), delay_before_report(cause, 2));
  EXPECT_LT(delay_before_report(cause, 1000), delay_before_report(follows, 0));
}

TEST(Report, WaitsLongerForRank0IfManyRanksShareACore) {
  const Error cause(ErrorKind::checkpoint, "a file is damaged"), follows(ErrorKind::peer, "rank 7 has left");
  EXPECT_EQ(delay_before_report(cause, 0, /*ranks_per_core=*/32).count(), 0);
  EXPECT_EQ(delay_before_report(cause, 1, 32), 32 * delay_before_report(cause, 1));
  EXPECT_LT(delay_before_report(cause, 1000, 32), delay_before_report(follows, 0, 32));
  EXPECT_EQ(delay_before_report(cause, 1, 0), delay_before_report(cause, 1));
}

TEST(Report, OfAllRanksIsLeftToRank0ButALostRankIsNamedSoon) {
  const Error agreed(ErrorKind::data, "rank 0 on vm: there is no corpus"), own(ErrorKind::data, "there is no corpus");
  const Error option(ErrorKind::usage, "unknown option '--beem'");
  for (const Error* of_all : {&agreed, &option}) {
    EXPECT_EQ(delay_before_report(*of_all, 0).count(), 0);
    EXPECT_GE(delay_before_report(*of_all, 1).count() - delay_before_report(own, 1).count(), 10'000);
  }
  EXPECT_LT(delay_before_report(Error(ErrorKind::peer, "rank 0 on vm has left"), 63).count(), 5'000);
}

TEST(Report, GivesEachKindItsExitStatus) {
  EXPECT_EQ(exit_code_of(Error(ErrorKind::usage, "")), 2);
  EXPECT_EQ(exit_code_of(Error(ErrorKind::diverged, "")), 7);
  EXPECT_EQ(exit_code_of(std::bad_alloc()), 1);
}

}  // namespace
}  // namespace weft
