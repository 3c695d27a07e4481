// tests/emulation/nccl/background.h: a thread that advances streams while their ranks wait elsewhere.
//
// The emulated device works only while a thread waits for a stream. A rank that waits for another one in MPI
// or on a socket waits for no stream, while the other rank may wait for its part of a collective. So, while
// communicators exist, a background thread advances streams if no collective was polled for a while.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace weft::emulation {

class Background {
 public:
  Background();
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  // Incremented whenever a stream polls a collective.
  std::shared_ptr<std::atomic<uint64_t>> activity() const { return activity_; }

 private:
  void run();

  const std::shared_ptr<std::atomic<uint64_t>> activity_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace weft::emulation
