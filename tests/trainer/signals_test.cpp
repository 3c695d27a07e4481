// tests/trainer/signals_test.cpp: which signals ask a run for what.
#include "trainer/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace weft::testing {
namespace {

TEST(SignalWatch, AsksForAStopOnEverySignalThatWouldEndARun) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGXCPU}) {
    SignalWatch signals;
    EXPECT_EQ(signals.take(), StopRequest::none);
    std::raise(signal);
    EXPECT_EQ(signals.take(), StopRequest::stop) << signal;
    EXPECT_EQ(signals.stop_signal(), signal);
  }
}

TEST(SignalWatch, TakesARepetitionAtOnceForTheSameRequest) {
  SignalWatch signals;
  std::raise(SIGTERM);
  std::raise(SIGTERM);  // ends the process if it counts as a second request
  std::raise(SIGINT);
  EXPECT_EQ(signals.take(), StopRequest::stop);
  EXPECT_EQ(signals.stop_signal(), SIGTERM);
}

TEST(SignalWatch, AsksForASaveOnceForEachSigusr1) {
  SignalWatch signals;
  std::raise(SIGUSR1);
  EXPECT_EQ(signals.take(), StopRequest::save);
  EXPECT_EQ(signals.take(), StopRequest::none);
}

TEST(SignalWatch, IgnoresThatTheScreenIsClosed) {
  SignalWatch signals;
  std::raise(SIGPIPE);
  EXPECT_EQ(signals.take(), StopRequest::none);
}

}  // namespace
}  // namespace weft::testing
