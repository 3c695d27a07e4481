// parallel/placement/other_programs.cpp: subtracts the ranks' own time from the time for which their cores were busy.
#include "parallel/placement/other_programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

#include "tensor/clock.h"
#include "tensor/context.h"

namespace weft {
namespace {

constexpr double kUnknownTicks = std::numeric_limits<double>::quiet_NaN();
constexpr double kFirstSeconds = 0.1, kSeconds = 1;  // shortest intervals; a tick is 10 ms
constexpr double kLeastShown = 0.2;

// Adds the busy ticks of a line "user nice system idle iowait irq softirq steal ..."; `user` includes guests.
double busy_in_line(std::istream& in) {
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  if (!(in >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) return kUnknownTicks;
  return user + nice + system + irq + softirq + steal;
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Identifies a process for the ranks of its host: processes of other containers have numbers that mean nothing here.
std::string own_process() {
  std::error_code none;
  return fmt::format("{} {} {}", getpid(), text_of(cores_of_this_thread()),
                     std::filesystem::read_symlink("/proc/self/ns/pid", none).string());
}

}  // namespace

double busy_ticks(const std::string& stat, const Cores& cores) {
  std::set<std::string> wanted;
  for (const int core : cores) wanted.insert(fmt::format("cpu{}", core));
  if (cores.empty()) wanted.insert("cpu");
  double ticks = 0;
  std::istringstream lines(stat);
  for (std::string line, name; std::getline(lines, line);) {
    std::istringstream in(line);
    if (in >> name && wanted.erase(name) > 0) ticks += busy_in_line(in);
  }
  return wanted.empty() ? ticks : kUnknownTicks;
}

double process_ticks(const std::string& stat) {
  const size_t name_end = stat.rfind(')');  // the name may contain blanks and parentheses
  if (name_end == std::string::npos) return kUnknownTicks;
  std::istringstream in(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) in >> skipped;
  double user = 0, system = 0;
  return in >> user >> system ? user + system : kUnknownTicks;
}

double share_of_others(const CpuTimes& from, const CpuTimes& to, size_t num_cores) {
  const double others = (to.busy - from.busy) - (to.by_ranks - from.by_ranks);
  const double share = others / ((to.time - from.time) * static_cast<double>(num_cores));
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
}

OtherPrograms::OtherPrograms(Communicator& world) {
  const auto host = world.split_by_host();
  const std::vector<std::string> ranks = host->all_gather_strings(own_process());
  if (!world.is_main_rank()) return;
  std::set<int> cores;
  std::set<std::string> namespaces;
  for (const std::string& rank : ranks) {
    std::istringstream in(rank);
    std::string process, list, name_space;
    in >> process >> list >> name_space;
    processes_.push_back("/proc/" + process + "/stat");
    namespaces.insert(name_space);
    for (const int core : cores_from_text(list)) cores.insert(core);
  }
  if (namespaces.size() == 1) cores_.assign(cores.begin(), cores.end());
  begin_ = now();
}

CpuTimes OtherPrograms::now() const {
  if (cores_.empty()) return {};
  const auto tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  CpuTimes times{.time = monotonic_seconds(), .busy = tick * busy_ticks(text_of_file("/proc/stat"), cores_)};
  for (const std::string& process : processes_) times.by_ranks += tick * process_ticks(text_of_file(process));
  return times;
}

double OtherPrograms::measure(const CpuTimes& end) {
  share_ = share_of_others(begin_, end, cores_.size());
  begin_ = end;
  return share_;
}

double OtherPrograms::share_at_start() {
  if (cores_.empty()) return 0;
  const double wait = kFirstSeconds - (monotonic_seconds() - begin_.time);
  if (wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
  return measure(now());
}

double OtherPrograms::share() {
  if (cores_.empty() || monotonic_seconds() - begin_.time < kSeconds) return share_;
  return measure(now());
}

std::string describe_others(double share) {
  return share < kLeastShown ? "" : fmt::format("others use {:.0f} % of the cores", 100 * share);
}

}  // namespace weft
