// trainer/signals.cpp: handlers for SIGTERM, SIGINT and SIGUSR1.
#include "trainer/signals.h"

#include <csignal>
#include <initializer_list>

namespace weft {
namespace {

volatile std::sig_atomic_t g_save = 0, g_stop = 0;

void on_save(int) { g_save = 1; }
void on_stop(int signal) {
  g_stop = signal;
  std::signal(signal, SIG_DFL);  // a second signal ends the process
}

}  // namespace

SignalWatch::SignalWatch() {
  g_save = 0;
  g_stop = 0;
  std::signal(SIGUSR1, on_save);
  std::signal(SIGTERM, on_stop);
  std::signal(SIGINT, on_stop);
}

SignalWatch::~SignalWatch() {
  for (int signal : {SIGUSR1, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
}

StopRequest SignalWatch::take() {
  if (g_stop) return StopRequest::stop;
  const bool save = g_save;
  g_save = 0;
  return save ? StopRequest::save : StopRequest::none;
}

int SignalWatch::stop_signal() const { return g_stop; }

}  // namespace weft
