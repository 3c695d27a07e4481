// tests/emulation/nccl/background.h: a thread that sees to it that streams go on while their ranks wait elsewhere.
//
// The emulated device works while somebody waits for a stream. A rank that waits for another one by MPI or on a socket
// waits for no stream, and the other one may wait for this rank's part of a collective: so, while there are
// communicators, a thread does a stream's work when nobody else has come to a collective for a while.
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
  // Counted up whenever a stream comes to a collective.
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
