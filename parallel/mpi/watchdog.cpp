// parallel/mpi/watchdog.cpp: notices waits that are too long, and reports them.
#include "parallel/mpi/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <system_error>

#include "parallel/communicator.h"
#include "tensor/clock.h"
#include "tensor/error.h"

namespace weft {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestInterval{200};  // between two checks
constexpr milliseconds kOthers{500};           // time for other ranks to write their reports
constexpr milliseconds kFolder{3000};          // time to write and read reports, perhaps over the failed network
constexpr int kMaxNamed = 16;                  // ranks in the message

}  // namespace

MpiWatchdog::~MpiWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  closed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MpiWatchdog::limit(milliseconds longest, const std::string& folder) {
  const std::lock_guard lock(mutex_);
  limit_ = longest;
  folder_ = folder;
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove(file_of(rank_), ignored);  // of an earlier run
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void MpiWatchdog::begin(CollectiveCall call) {
  call.step = step_;
  begin_ = monotonic_seconds();
  const std::lock_guard lock(mutex_);
  recent_[num_calls_++ % kRecent] = call;
  waiting_ = true;
}

void MpiWatchdog::end() {
  seconds_waited_ += monotonic_seconds() - begin_;
  const std::lock_guard lock(mutex_);
  waiting_ = false;
}

// Counts its own checks instead of reading a clock, because clocks advance while the process is suspended.
void MpiWatchdog::run() {
  std::unique_lock lock(mutex_);
  uint64_t looked_at = 0;  // the call that the last check saw
  milliseconds waited{0};
  for (;;) {
    const milliseconds interval = std::clamp(limit_ / 8, milliseconds(1), kLongestInterval);
    if (closed_.wait_for(lock, interval, [&] { return closing_; })) return;
    waited = waiting_ && looked_at == num_calls_ ? waited + interval : milliseconds(0);
    looked_at = num_calls_;
    if (waited > limit_) give_up();
  }
}

std::string MpiWatchdog::file_of(int rank) const { return fmt::format("{}/rank-{}.txt", folder_, rank); }

std::string MpiWatchdog::wait_text() const {
  return fmt::format("rank {} on {} waits in {}", rank_, host_name(), describe(recent_[(num_calls_ - 1) % kRecent]));
}

// The first line describes the wait. The lines after it list earlier collectives, the latest first.
void MpiWatchdog::write_report() const {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const std::string file = file_of(rank_), temporary = file + ".tmp";
  {
    std::ofstream out(temporary);
    out << wait_text() << '\n';
    for (uint64_t n = num_calls_ - 1; n > 0 && num_calls_ - n < kRecent; --n)
      out << fmt::format("  before: call {}, {}\n", n, describe(recent_[(n - 1) % kRecent]));
  }
  std::filesystem::rename(temporary, file, ignored);  // so that nobody reads an incomplete file
}

// Returns what the ranks wrote about their waits. This function hangs if the folder's file system hangs.
std::string MpiWatchdog::exchange_reports() const {
  write_report();
  std::this_thread::sleep_for(kOthers);
  std::string text, silent;
  int named = 0;
  for (int rank = 0; rank < size_; ++rank) {
    std::string line;
    std::ifstream report(file_of(rank));
    if (std::getline(report, line)) {
      if (rank != rank_ && named++ < kMaxNamed) text += "  " + line + "\n";
    } else {
      silent += fmt::format("{}{}", silent.empty() ? "" : ", ", rank);
    }
  }
  text += silent.empty()
              ? "  every rank waits: the network has failed, or the ranks wait in different collectives\n"
              : fmt::format("  no report from rank {}: it hangs, has stopped, is busy or is cut off\n", silent);
  return text + fmt::format("  the recent collectives of each rank are in {}\n", folder_);
}

void MpiWatchdog::give_up() {
  std::string text = fmt::format("weft: {} for more than {:g} s (parallel.timeout)\n", wait_text(),
                                 std::chrono::duration<double>(limit_).count());
  if (!folder_.empty()) {
    std::promise<std::string> promise;
    std::future<std::string> reports = promise.get_future();
    std::thread([this, &promise] { promise.set_value(exchange_reports()); }).detach();  // this process ends soon
    const bool known = reports.wait_for(kOthers + kFolder) == std::future_status::ready;
    text += known ? reports.get()
                  : fmt::format("  {} does not respond, so it is unknown where the other ranks wait\n", folder_);
  }
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::_Exit(static_cast<int>(ErrorKind::peer));
}

}  // namespace weft
