// parallel/nccl/watchdog.cpp: implements the watchdog's checks and actions.
#include "parallel/nccl/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace weft::nccl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestInterval{200};  // between two checks

double seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

[[noreturn]] void end_process(const std::string& reason, milliseconds notice) {
  const std::string text = fmt::format(
      "weft[process {} on {}]: {}; the collective could not be stopped within {:g} s, so this process exits\n",
      getpid(), host_name(), reason, seconds(notice));
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::_Exit(static_cast<int>(ErrorKind::peer));
}

}  // namespace

Watchdog::Watchdog(Comms& comms, const Marks& marks, NcclLimits limits)
    : comms_(comms), marks_(marks), limits_(limits), last_end_(std::chrono::steady_clock::now()) {
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = noticed_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Watchdog::fail(ErrorKind kind, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  noticed_ = true;
  if (!failed_) {
    kind_ = kind;
    reason_ = reason;
    failed_ = true;
  }
  changed_.notify_all();
}

void Watchdog::check() {
  if (!failed_) return;
  {
    const std::lock_guard lock(mutex_);
    noticed_ = true;
    changed_.notify_all();
  }
  throw Error(kind_, reason_);
}

std::string Watchdog::overdue_text(const std::string& what) const {
  return fmt::format(
      "{} ({}): not finished after {:g} s (parallel.timeout); another rank has stopped, hangs or makes different "
      "calls: see its message",
      what, comms_.device(), seconds(limits_.collective));
}

void Watchdog::run() {
  const milliseconds interval = std::clamp(limits_.collective / 8, milliseconds(1), kLongestInterval);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [&] { return closing_ || failed_; })) {
    const std::string reason = look();
    if (reason.empty()) continue;
    reason_ = reason;
    failed_ = true;
  }
  if (failed_) abort_all(lock);
}

std::string Watchdog::look() {
  const std::optional<CollectiveCall> unfinished = marks_.unfinished();
  const std::string error = comms_.asynchronous_error();
  if (!error.empty()) return unfinished ? fmt::format("{}: {}", describe(*unfinished), error) : error;
  const auto now = std::chrono::steady_clock::now();
  const uint64_t position = marks_.position();
  if (!unfinished || position != position_) {
    position_ = position;
    last_end_ = now;
  }
  return now - last_end_ > limits_.collective ? overdue_text(describe(*unfinished)) : "";
}

// Aborts on a separate thread, because the abort may not return.
void Watchdog::abort_all(std::unique_lock<std::mutex>& lock) {
  std::thread aborter([this] {
    comms_.abort();
    const std::lock_guard guard(mutex_);
    aborted_ = true;
    changed_.notify_all();
  });
  if (!changed_.wait_for(lock, limits_.notice, [&] { return noticed_ && aborted_; }))
    end_process(reason_, limits_.notice);
  lock.unlock();
  aborter.join();
}

}  // namespace weft::nccl
