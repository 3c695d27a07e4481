// tests/emulation/machine/fault.cpp: a signal handler that prints a line and restores the previous handler.
#include "tests/emulation/machine/fault.h"

#include <signal.h>
#include <unistd.h>

#include "tests/emulation/machine/machine.h"

namespace weft::emulation {
namespace {

struct sigaction earlier;

void explain(int, siginfo_t* info, void*) {
  if (machine().device_of(info->si_addr) >= 0) {
    constexpr char kText[] =
        "emulated device: device memory was touched by host code, or by device code beyond an allocation\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
  }
  sigaction(SIGSEGV, &earlier, nullptr);  // the same access faults again
}

}  // namespace

void explain_faults() {
  struct sigaction action {};
  action.sa_sigaction = explain;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &earlier);
}

}  // namespace weft::emulation
