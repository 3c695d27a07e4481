// parallel/mpi/watchdog.cpp: notices waits that are too long, and reports them.
#include "parallel/mpi/watchdog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

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
constexpr int kMostLimits = 10;                // how often a wait for a rank that works may exceed the limit
constexpr double kLeastWork = 0.01;            // CPU seconds per second with which a process counts as working
constexpr uint64_t kLeastBytes = 1 << 12;      // bytes read or written, more than the watchdog itself needs

// Returns the result of `access`, or nullopt if the folder's file system does not respond. Its thread is left behind.
std::optional<std::string> in_time(std::function<std::string()> access) {
  auto task = std::make_shared<std::packaged_task<std::string()>>(std::move(access));
  std::future<std::string> result = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  if (result.wait_for(kOthers + kFolder) != std::future_status::ready) return std::nullopt;
  return result.get();
}

}  // namespace

WaitingFolder::WaitingFolder(std::string name) : name_(std::move(name)) {
  const std::filesystem::path path(name_);
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  parent_ = open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  path_ = fmt::format("/proc/self/fd/{}/{}", parent_, path.filename().string());
}

WaitingFolder::~WaitingFolder() {
  if (parent_ >= 0) close(parent_);
}

std::string WaitingFolder::report(int rank) const { return fmt::format("{}/rank-{}.txt", path_, rank); }
std::string WaitingFolder::alive(int rank) const { return fmt::format("{}/rank-{}.alive", path_, rank); }

MpiWatchdog::~MpiWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  closed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (num_shown_ == 0) return;
  std::error_code ignored;
  std::filesystem::remove(folder_->alive(rank_), ignored);
  std::filesystem::remove(folder_->path(), ignored);  // fails if it contains reports
}

void MpiWatchdog::limit(milliseconds longest, const std::string& folder) {
  const std::lock_guard lock(mutex_);
  limit_ = longest;
  folder_ = folder.empty() ? nullptr : std::make_shared<const WaitingFolder>(folder);
  std::error_code ignored;
  if (folder_)
    for (const std::string& file : {folder_->report(rank_), folder_->alive(rank_)})
      std::filesystem::remove(file, ignored);  // of an earlier run
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
  uint64_t looked_at = 0;          // the call that the last check saw
  bool waits = false;              // true if the last check saw this rank wait in the call
  milliseconds lasted{0}, due{0};  // since the call began or ended; when to act next
  std::string seen;                // work_of_ranks() earlier in this wait
  for (;;) {
    const milliseconds interval = std::clamp(limit_ / 8, milliseconds(1), kLongestInterval);
    if (closed_.wait_for(lock, interval, [&] { return closing_; })) return;
    const bool is_same = looked_at == num_calls_ && waits == waiting_;
    looked_at = num_calls_, waits = waiting_;
    const milliseconds between = waits ? limit_ / 2 : limit_ / 4;  // every wait sees numbers from two moments of work
    if (!is_same) lasted = milliseconds(0), due = between, seen.clear();
    lasted += is_same ? interval : milliseconds(0);
    if (size_ == 1 || lasted <= due) continue;
    due += between;
    const SharedFolder folder = folder_;
    const milliseconds limit = limit_;
    lock.unlock();  // because the folder may respond slowly
    if (!waits) show_work(folder, limit / 4);
    const std::string work = waits ? work_of_ranks(folder) : "";
    lock.lock();
    if (!waits || !waiting_ || looked_at != num_calls_) continue;
    if (lasted > limit_ && (work == seen || lasted > kMostLimits * limit_)) give_up();
    seen = work;
  }
}

MpiWatchdog::Work MpiWatchdog::work_of_process() {
  Work work{.cpu_seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
  std::ifstream io("/proc/self/io");
  std::string name;
  for (uint64_t bytes = 0; io >> name >> bytes;)
    if (name == "rchar:" || name == "wchar:") work.bytes += bytes;
  return work;
}

// Counts if the process has worked in the last `interval`. A rank that hangs does not work.
void MpiWatchdog::show_work(const SharedFolder& folder, milliseconds interval) {
  const Work now = work_of_process(), before = std::exchange(shown_, now);
  const double least = kLeastWork * std::chrono::duration<double>(interval).count();
  const bool works = now.cpu_seconds - before.cpu_seconds >= least || now.bytes - before.bytes >= kLeastBytes;
  if (!works || !folder) return;
  in_time([folder, rank = rank_, number = ++num_shown_] {
    std::error_code ignored;
    std::filesystem::create_directory(folder->path(),
                                      ignored);  // not its parents: the run's folder may have been removed
    std::ofstream(folder->alive(rank)) << number;
    return "";
  });
}

std::string MpiWatchdog::work_of_ranks(const SharedFolder& folder) const {
  if (!folder) return "";
  const auto numbers = in_time([folder, size = size_] {
    std::string text;
    for (int rank = 0; rank < size; ++rank) {
      std::ifstream in(folder->alive(rank));
      std::string number;
      in >> number;
      text += number + "\n";
    }
    return text;
  });
  return numbers.value_or("");
}

std::string MpiWatchdog::wait_text() const {
  return fmt::format("rank {} on {} waits in {}", rank_, host_name(), describe(recent_[(num_calls_ - 1) % kRecent]));
}

// The first line describes the wait. The lines after it list earlier collectives, the latest first.
void MpiWatchdog::write_report() const {
  std::error_code ignored;
  std::filesystem::create_directory(folder_->path(), ignored);
  const std::string file = folder_->report(rank_), temporary = file + ".tmp";
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
    std::ifstream report(folder_->report(rank));
    if (std::getline(report, line)) {
      if (rank != rank_ && named++ < kMaxNamed) text += "  " + line + "\n";
    } else {
      silent += fmt::format("{}{}", silent.empty() ? "" : ", ", rank);
    }
  }
  text += silent.empty()
              ? "  every rank waits: the network has failed, or the ranks wait in different collectives\n"
              : fmt::format("  no report from rank {}: it hangs, has stopped, is busy or is cut off\n", silent);
  return text + fmt::format("  the recent collectives of each rank are in {}\n", folder_->name());
}

void MpiWatchdog::give_up() {
  std::string text = fmt::format("weft: {} for more than {:g} s (parallel.timeout)\n", wait_text(),
                                 std::chrono::duration<double>(limit_).count());
  if (folder_) {
    text += in_time([this] { return exchange_reports(); })  // this process ends soon
                .value_or(fmt::format("  {} does not respond, so it is unknown where the other ranks wait\n",
                                      folder_->name()));
  }
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::_Exit(static_cast<int>(ErrorKind::peer));
}

}  // namespace weft
