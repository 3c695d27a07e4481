// trainer/bench/machine_load.cpp: reads Linux's /proc before and after a measurement.
#include "trainer/bench/machine_load.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "parallel/placement/other_programs.h"
#include "tensor/clock.h"
#include "tensor/context.h"

namespace weft {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kMaxWaiting = 0.03;  // share of the time, above which a measurement is unreliable

double load_average() {
  std::ifstream in("/proc/loadavg");
  double load = 0;
  return in >> load ? load : kUnknown;
}

double busy_seconds() {
  std::ifstream in("/proc/stat");
  const std::string stat{std::istreambuf_iterator<char>(in), {}};
  return busy_ticks(stat, /*cores=*/{}) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Sums the waiting times of all threads. Each schedstat contains "running waiting slices", with times in nanoseconds.
double delayed_seconds() {
  double total = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream in(task.path() / "schedstat");
    double running = 0, waiting = 0;
    if (!(in >> running >> waiting)) return kUnknown;
    total += 1e-9 * waiting;
  }
  return error ? kUnknown : total;
}

// Returns the sum of `value` over the ranks on this rank's host.
double sum_on_host(Communicator& world, double value) {
  const std::string host = host_name();
  double sum = 0;
  for (const std::string& text : world.all_gather_strings(fmt::format("{} {}", value, host)))
    if (text.substr(text.find(' ') + 1) == host) sum += std::stod(text);
  return sum;
}

}  // namespace

bool LoadReport::too_busy() const { return other_cores > kMaxOthers * cores || waiting > kMaxWaiting; }

std::string LoadReport::warning() const {
  if (!too_busy()) return "";
  const auto known = [](double value, const std::string& text) { return std::isnan(value) ? "unknown" : text; };
  return fmt::format(
      "the machine was too busy for reliable numbers: other processes used {} of {:.0f} cores, and threads waited for "
      "a core {} of the time; measure again while the machine is idle, with no more threads than cores",
      known(other_cores, fmt::format("{:.1f}", other_cores)), cores,
      known(waiting, fmt::format("{:.0f} %", 100 * waiting)));
}

MachineLoad::MachineLoad() : begin_(sample()) {}

MachineLoad::Sample MachineLoad::sample() {
  return {.time = monotonic_seconds(),
          .load = load_average(),
          .busy = busy_seconds(),
          .own = own_seconds(),
          .delayed = delayed_seconds()};
}

LoadReport MachineLoad::report(Communicator& world) const {
  const Sample end = sample();
  const double seconds = end.time - begin_.time;
  const double own = sum_on_host(world, end.own - begin_.own);
  return {.before = begin_.load,
          .after = end.load,
          .other_cores = std::max((end.busy - begin_.busy - own) / seconds, 0.0),
          .cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)),
          .waiting = (end.delayed - begin_.delayed) / (seconds * num_threads())};
}

}  // namespace weft
