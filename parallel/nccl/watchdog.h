// parallel/nccl/watchdog.h: a thread that ends collectives which do not end by themselves.
//
// The host waits for the device in many places (copies, full launch queues, memory freed), all of them inside CUDA, and
// a collective whose peer is gone makes each of them wait for ever. So a second thread looks: it asks NCCL for
// asynchronous errors and reads how far the stream has come, neither of which can wait. After a failure it aborts the
// communicators, which ends their kernels and frees the host; check() then throws. NCCL's abort returns when the graphs
// that hold collectives are destroyed, as they are while that error unwinds. Should it not return, or the computing
// thread not learn of the failure, then the process is ended: nobody is left waiting.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "parallel/nccl.h"
#include "parallel/nccl/comms.h"
#include "parallel/nccl/marks.h"
#include "tensor/error.h"

namespace weft::nccl {

class Watchdog {
 public:
  Watchdog(Comms& comms, const Marks& marks, NcclLimits limits);
  ~Watchdog();  // after a failure it waits until all is aborted
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Of the computing thread. The first failure counts.
  void fail(ErrorKind kind, const std::string& reason);  // has all aborted
  void check();                                          // throws the failure if there is one
  bool failed() const { return failed_; }
  std::string overdue_text(const std::string& what) const;

 private:
  void run();
  std::string look();  // what is wrong, or nothing
  void abort_all(std::unique_lock<std::mutex>& lock);

  Comms& comms_;
  const Marks& marks_;
  const NcclLimits limits_;
  std::chrono::steady_clock::time_point last_end_;  // of a collective, or of a time without any
  uint64_t position_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  ErrorKind kind_ = ErrorKind::peer;
  std::string reason_;
  std::atomic<bool> failed_ = false;  // reason_ is there to stay
  bool noticed_ = false;              // by the computing thread
  bool aborted_ = false, closing_ = false;
  std::thread thread_;
};

}  // namespace weft::nccl
