// tests/launch/start/stop_relay_test.cpp: signals for the ranks, and the launcher's status.
#include "launch/start/stop_relay.h"

#include <gtest/gtest.h>

#include <csignal>

namespace weft {
namespace {

TEST(StopRelay, AsksRanksToSaveWithASignalThatMpirunOnlyPassesOn) {
  StopRelay relay;
  EXPECT_EQ(relay.relay(SIGINT, 100), SIGUSR2);
  EXPECT_EQ(relay.status(128 + SIGUSR2), 130);
}

TEST(StopRelay, TakesAnEarlyRepetitionForOneRequest) {
  StopRelay relay;
  relay.relay(SIGTERM, 100);
  EXPECT_EQ(relay.relay(SIGTERM, 100.004), 0);
  EXPECT_FALSE(relay.impatient());
}

TEST(StopRelay, TakesALateRepetitionForImpatience) {
  StopRelay relay;
  relay.relay(SIGINT, 100);
  EXPECT_EQ(relay.relay(SIGINT, 102), SIGTERM);
  EXPECT_TRUE(relay.impatient());
  EXPECT_EQ(relay.status(1), 130);  // mpirun returns 1
}

TEST(StopRelay, RepeatsTheRequestUntilItIsImpatient) {
  StopRelay relay;
  EXPECT_EQ(relay.again(100), 0);
  relay.relay(SIGINT, 100);
  EXPECT_EQ(relay.again(101), SIGUSR2);
  relay.relay(SIGINT, 103);
  EXPECT_EQ(relay.again(104), 0);
}

TEST(StopRelay, EndsRanksThatAnImpatientRequestDidNotEnd) {
  StopRelay relay;
  relay.relay(SIGINT, 100);
  relay.relay(SIGINT, 103);
  EXPECT_EQ(relay.relay(SIGINT, 105), 0) << "mpirun would leave its ranks behind";
  EXPECT_EQ(relay.again(108), SIGKILL);
  EXPECT_EQ(relay.relay(SIGINT, 109), SIGKILL);
}

TEST(StopRelay, PassesARequestToSaveOn) {
  StopRelay relay;
  EXPECT_EQ(relay.relay(SIGUSR1, 100), SIGUSR1);
  EXPECT_EQ(relay.stop_signal(), 0);
}

TEST(StopRelay, KeepsTheStatusOfRanksThatFinishedOrFailed) {
  StopRelay relay;
  EXPECT_EQ(relay.status(6), 6);
  relay.relay(SIGTERM, 100);
  EXPECT_EQ(relay.status(0), 0);
  EXPECT_EQ(relay.status(5), 5);
}

}  // namespace
}  // namespace weft
