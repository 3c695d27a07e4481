// trainer/signals.cpp: implements the signal handlers of a run.
#include "trainer/signals.h"

#include <atomic>
#include <csignal>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

namespace weft {
namespace {

constexpr int kStopSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGXCPU};

using Handler = void (*)(int);
std::mutex g_mutex;  // guards g_watches and g_former
int g_watches = 0;
std::vector<std::pair<int, Handler>> g_former;  // handlers before the first watch

volatile std::sig_atomic_t g_save = 0, g_stop = 0;
std::atomic<int64_t> g_first_stop = 0;  // nanoseconds
static_assert(std::atomic<int64_t>::is_always_lock_free, "a signal handler may use only lock-free atomics");

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
  } else if (signal != SIGUSR2 && now - g_first_stop >= int64_t{1'000'000'000} * SignalWatch::kSecondSignalSeconds) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // ends the process when this handler returns
  }
}

void handle(int signal, Handler handler) { g_former.emplace_back(signal, std::signal(signal, handler)); }

}  // namespace

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

SignalWatch::SignalWatch() {
  const std::lock_guard lock(g_mutex);
  if (g_watches++ > 0) return;
  g_save = 0;
  g_stop = 0;
  handle(SIGUSR1, on_save);
  for (const int signal : kStopSignals)
    if (signal != SIGHUP || !is_ignored(signal)) handle(signal, on_stop);
  handle(SIGPIPE, SIG_IGN);
}

SignalWatch::~SignalWatch() {
  const std::lock_guard lock(g_mutex);
  if (--g_watches > 0) return;
  for (const auto& [signal, former] : g_former)
    std::signal(signal, signal == SIGUSR1 || signal == SIGUSR2 ? SIG_IGN : former);
  g_former.clear();
}

StopRequest SignalWatch::take() {
  if (g_stop) return StopRequest::stop;
  const bool save = g_save;
  g_save = 0;
  return save ? StopRequest::save : StopRequest::none;
}

int SignalWatch::stop_signal() const { return g_stop; }

}  // namespace weft
