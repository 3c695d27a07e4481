// launch/report.cpp: prints an exception to stderr.
#include "launch/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "launch/mpi_environment.h"
#include "parallel/communicator.h"
#include "tensor/error.h"

namespace weft {
namespace {

// True if all_or_none() gave this error to all ranks, because its text then starts with the rank that failed first.
bool is_agreed(const std::exception& e) { return std::string_view(e.what()).starts_with("rank "); }

// std::thread and std::async throw this error. Errors of files are of the derived class filesystem_error.
bool is_out_of_threads(const std::exception& e) {
  const auto* of_system = dynamic_cast<const std::system_error*>(&e);
  return of_system != nullptr && dynamic_cast<const std::filesystem::filesystem_error*>(&e) == nullptr &&
         of_system->code() == std::errc::resource_unavailable_try_again;
}

}  // namespace

int exit_code_of(const std::exception& e) {
  if (const auto* error = dynamic_cast<const Error*>(&e)) return error->exit_code();
  const auto* of_system = dynamic_cast<const std::system_error*>(&e);  // also of std::filesystem
  if (of_system == nullptr) return static_cast<int>(ErrorKind::internal);
  return static_cast<int>(of_system->code() == std::errc::filename_too_long ? ErrorKind::usage : ErrorKind::io);
}

std::string failure_text(const std::exception& e, int rank, int world_size, const std::string& host) {
  const auto* error = dynamic_cast<const Error*>(&e);
  const bool out_of_memory = dynamic_cast<const std::bad_alloc*>(&e) != nullptr;
  std::string text = world_size == 1 ? "weft: "
                     : is_agreed(e)  ? fmt::format("weft[{} ranks]: ", world_size)
                                     : fmt::format("weft[rank {} of {}, {}]: ", rank, world_size, host);
  text += out_of_memory          ? "out of memory"
          : is_out_of_threads(e) ? fmt::format(
                                       "no thread can be started: {}; raise the limit of processes or memory "
                                       "(ulimit -u, -v, -d), or set fewer threads",
                                       e.what())
                                 : e.what();
  if (error != nullptr && !error->frames().empty()) {
    const std::vector<std::string>& frames = error->frames();
    text += fmt::format(" ({})", fmt::join(frames.rbegin(), frames.rend(), ", "));
  }
  text += "\n";
  if (error != nullptr && error->kind() == ErrorKind::internal)
    text += fmt::format("  at {}:{}\n", error->where().file_name(), error->where().line());
  return text;
}

std::chrono::milliseconds delay_before_report(const std::exception& e, int rank, int ranks_per_core) {
  constexpr int kMaxRanks = 50;
  const int slower = std::max(1, ranks_per_core);
  const std::chrono::milliseconds in_turn(rank == 0 ? 0 : slower * (300 + 20 * std::min(rank, kMaxRanks)));
  const bool follows = exit_code_of(e) == static_cast<int>(ErrorKind::peer);
  const bool is_usage = exit_code_of(e) == static_cast<int>(ErrorKind::usage);
  const bool left_to_rank0 = rank > 0 && (is_usage || is_agreed(e)) && !follows;
  return in_turn + std::chrono::milliseconds(left_to_rank0 ? 10'000 : follows ? slower * 1500 : 0);
}

int report_failure(const std::exception& e, const Communicator* world) {
  const LaunchedAs launched = launched_as();
  const int rank = world != nullptr ? world->rank() : launched.rank;
  const int size = world != nullptr ? world->size() : 1;
  const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (size > 1 || rank > 0) std::this_thread::sleep_for(delay_before_report(e, rank, launched.size_on_host / cores));
  std::fflush(stdout);
  std::fputs(failure_text(e, rank, size, host_name()).c_str(), stderr);  // never throws, unlike fmt::print
  std::fflush(stderr);
  return exit_code_of(e);
}

}  // namespace weft
