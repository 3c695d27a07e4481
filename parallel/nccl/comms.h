// parallel/nccl/comms.h: owns the NCCL communicators of one Context. Only this class calls NCCL on them.
//
// NCCL allows calls from one thread at a time, and none during an abort. Here one thread computes and another aborts,
// so all calls take the same lock. All communicators are non-blocking: a call returns immediately, and its completion
// is polled afterwards. An abort does block, but without the lock, because no other call is made once it has started.
// So no thread blocks while it holds the lock.
#pragma once

#include <nccl.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "parallel/nccl/check.h"

namespace weft::nccl {

struct Overdue {};  // thrown when NCCL has not finished within the limit

class Comms {
 public:
  explicit Comms(std::chrono::milliseconds limit);
  const std::string& device() const { return device_name_; }  // device of the communicators, for messages

  // These functions wait for NCCL. They throw NCCL's Error, or Overdue; the caller should then abort all communicators.
  ncclComm_t connect(const ncclUniqueId& id, int size, int rank);  // returns when all ranks have connected
  void finish(ncclComm_t comm);                                    // returns when all its work is done

  // Calls enqueue(), which calls NCCL on `comm`, and returns when the work is on the stream.
  template <typename Enqueue>
  void call(ncclComm_t comm, const Enqueue& enqueue) {
    {
      const std::lock_guard lock(mutex_);
      require_alive();
      check(enqueue());
    }
    wait_until_ready(comm);
  }

  std::string asynchronous_error();  // returns "" if there is none
  // Permanently aborts all communicators and ends their kernels. Waits until all graphs that contain their collectives
  // are destroyed.
  void abort();

 private:
  void require_alive() const;
  void wait_until_ready(ncclComm_t comm);

  const std::chrono::milliseconds limit_;
  int device_ = 0;
  std::string device_name_;
  std::mutex mutex_;
  std::vector<ncclComm_t> comms_;
  ncclComm_t connecting_ = nullptr;  // the one of comms_ that connects, or null
  bool aborted_ = false;
};

}  // namespace weft::nccl
