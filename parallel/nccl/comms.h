// parallel/nccl/comms.h: the NCCL communicators of one Context, and the only place that calls NCCL on them.
//
// NCCL wants one thread at a time, and none while it aborts; here one thread computes and another aborts. So all calls
// go through one lock. All communicators are non-blocking: a call returns at once, and whether NCCL has done what was
// asked for is polled afterwards. An abort does wait, but when it begins nobody calls any more. So the lock is never
// held while somebody waits.
#pragma once

#include <nccl.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "parallel/nccl/check.h"

namespace weft::nccl {

struct Overdue {};  // thrown when the limit is over and NCCL has not done what was asked for

class Comms {
 public:
  explicit Comms(std::chrono::milliseconds limit);
  const std::string& device() const { return device_name_; }  // that the communicators are on, for messages

  // Each waits until NCCL has done it, and throws an Error of NCCL's or Overdue; then all should be aborted.
  ncclComm_t connect(const ncclUniqueId& id, int size, int rank);  // when all ranks have come
  void finish(ncclComm_t comm);                                    // when all is done that it was asked for

  // enqueue() calls NCCL on `comm`; returns when its work is on the stream.
  template <typename Enqueue>
  void call(ncclComm_t comm, const Enqueue& enqueue) {
    {
      const std::lock_guard lock(mutex_);
      require_alive();
      check(enqueue());
    }
    wait_until_ready(comm);
  }

  std::string asynchronous_error();  // empty: none
  // All, and for good; ends their kernels too. Then NCCL waits until all graphs are destroyed that hold any of them.
  void abort();

 private:
  void require_alive() const;
  void wait_until_ready(ncclComm_t comm);

  const std::chrono::milliseconds limit_;
  int device_ = 0;
  std::string device_name_;
  std::mutex mutex_;
  std::vector<ncclComm_t> comms_;
  ncclComm_t connecting_ = nullptr;  // one of them
  bool aborted_ = false;
};

}  // namespace weft::nccl
