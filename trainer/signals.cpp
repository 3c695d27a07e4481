// trainer/signals.cpp: the handlers of a run's signals.
#include "trainer/signals.h"

#include <atomic>
#include <csignal>
#include <ctime>

namespace weft {
namespace {

constexpr int kStopSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGXCPU};

volatile std::sig_atomic_t g_save = 0, g_stop = 0;
std::atomic<int64_t> g_first_stop = 0;  // nanoseconds
static_assert(std::atomic<int64_t>::is_always_lock_free, "a handler may use it");

int64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

void on_save(int) { g_save = 1; }
void on_stop(int signal) {
  const int64_t now = nanoseconds();
  if (g_stop == 0) {
    g_first_stop = now;
    g_stop = signal;
  } else if (now - g_first_stop >= int64_t{1'000'000'000} * SignalWatch::kSecondSignalSeconds) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // ends the process when this handler returns
  }
}

}  // namespace

SignalWatch::SignalWatch() {
  g_save = 0;
  g_stop = 0;
  std::signal(SIGUSR1, on_save);
  for (const int signal : kStopSignals) std::signal(signal, on_stop);
  std::signal(SIGPIPE, SIG_IGN);
}

SignalWatch::~SignalWatch() {
  for (const int signal : kStopSignals) std::signal(signal, SIG_DFL);
  std::signal(SIGUSR1, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
}

StopRequest SignalWatch::take() {
  if (g_stop) return StopRequest::stop;
  const bool save = g_save;
  g_save = 0;
  return save ? StopRequest::save : StopRequest::none;
}

int SignalWatch::stop_signal() const { return g_stop; }

}  // namespace weft
