// tests/trainer/signals_test.cpp: which signals ask a run for what.
#include "trainer/signals.h"

#include <gtest/gtest.h>

#include <chrono>
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

// `weft launch` repeats it. It ends the process if it counts as a second request.
TEST(SignalWatch, TakesSigusr2ForTheSameRequestAtAnyTime) {
  SignalWatch signals;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < begin + std::chrono::seconds(SignalWatch::kSecondSignalSeconds))
    std::raise(SIGUSR2);
  std::raise(SIGUSR2);
  EXPECT_EQ(signals.take(), StopRequest::stop);
}

TEST(SignalWatch, LeavesAHangupIgnored) {  // nohup
  std::signal(SIGHUP, SIG_IGN);
  {
    SignalWatch signals;
    std::raise(SIGHUP);
    EXPECT_EQ(signals.take(), StopRequest::none);
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
}

void end_quietly(int) {}

TEST(SignalWatch, GivesSignalsBackAndIgnoresLateRequests) {
  std::signal(SIGTERM, end_quietly);
  { SignalWatch signals; }
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), end_quietly);
  for (const int late : {SIGUSR1, SIGUSR2}) EXPECT_EQ(std::signal(late, SIG_DFL), SIG_IGN);
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
