// parallel/nccl/watchdog.h: runs a thread that ends collectives that hang.
//
// In many places the host waits for the device inside CUDA (copies, full launch queues, freed memory). If a peer is
// missing from a collective, such a wait lasts forever. So a second thread asks NCCL for asynchronous errors and reads
// the stream's progress; neither can block. After a failure, this thread aborts the communicators, which ends their
// kernels and the host's wait. Then check() throws. NCCL's abort returns once the graphs with collectives are
// destroyed, which happens while the error from check() unwinds. If the abort does not return, or the computing thread
// does not call check(), the process exits, so that no rank is left waiting.
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
  ~Watchdog();  // after a failure it waits until everything is aborted
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The computing thread calls these functions. Only the first failure counts.
  void fail(ErrorKind kind, const std::string& reason);  // aborts everything
  void check();                                          // throws the failure if there is one
  bool failed() const { return failed_; }
  std::string overdue_text(const std::string& what) const;

 private:
  void run();
  std::string look();  // returns the problem, or empty
  void abort_all(std::unique_lock<std::mutex>& lock);

  Comms& comms_;
  const Marks& marks_;
  const NcclLimits limits_;
  std::chrono::steady_clock::time_point last_end_;  // end of the last collective or idle time
  uint64_t position_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  ErrorKind kind_ = ErrorKind::peer;
  std::string reason_;
  std::atomic<bool> failed_ = false;  // once this is true, reason_ does not change
  bool noticed_ = false;              // set by the computing thread
  bool aborted_ = false, closing_ = false;
  std::thread thread_;
};

}  // namespace weft::nccl
