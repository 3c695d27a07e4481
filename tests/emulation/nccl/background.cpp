// tests/emulation/nccl/background.cpp: decides when the background thread works.
#include "tests/emulation/nccl/background.h"

#include <chrono>

#include "tests/emulation/runtime/device.h"

namespace weft::emulation {
namespace {

constexpr std::chrono::milliseconds kPatience{2};  // longer than the poll interval of a thread that waits for a stream

}  // namespace

Background::Background() {
  thread_ = std::thread([this] { run(); });
}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Background::run() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPatience, [&] { return closing_; })) {
    lock.unlock();
    if (*activity_ == seen) {
      while (advance()) {
      }
    }
    seen = *activity_;
    lock.lock();
  }
}

}  // namespace weft::emulation
