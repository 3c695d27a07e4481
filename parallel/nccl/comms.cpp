// parallel/nccl/comms.cpp: manages NCCL's communicators from connection to destruction.
#include "parallel/nccl/comms.h"

#include <algorithm>
#include <thread>

#include "tensor/error.h"

namespace weft::nccl {

Comms::Comms(std::chrono::milliseconds limit) : limit_(limit), device_name_(current_device()) {
  check(cudaGetDevice(&device_), "cudaGetDevice");
}

ncclComm_t Comms::connect(const ncclUniqueId& id, int size, int rank) {
  ncclComm_t comm = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  {
    const std::lock_guard lock(mutex_);
    require_alive();
    const ncclResult_t result = ncclCommInitRankConfig(&comm, size, id, rank, &config);
    if (comm != nullptr) comms_.push_back(connecting_ = comm);
    check(result);
  }
  wait_until_ready(comm);
  const std::lock_guard lock(mutex_);
  connecting_ = nullptr;
  return comm;
}

void Comms::finish(ncclComm_t comm) {
  call(comm, [&] { return ncclCommFinalize(comm); });
  const std::lock_guard lock(mutex_);
  require_alive();
  comms_.erase(std::find(comms_.begin(), comms_.end(), comm));
  check(ncclCommDestroy(comm));
}

std::string Comms::asynchronous_error() {
  const std::unique_lock lock(mutex_, std::try_to_lock);  // a call that hangs must not stop the watchdog
  if (!lock) return "";
  for (const ncclComm_t comm : comms_) {
    if (comm == connecting_) continue;  // connect() checks it
    ncclResult_t state = ncclSuccess;
    const ncclResult_t result = ncclCommGetAsyncError(comm, &state);
    if (result != ncclSuccess) state = result;
    if (state != ncclSuccess && state != ncclInProgress) return error_text(state, device_name_);
  }
  return "";
}

void Comms::abort() {
  std::vector<ncclComm_t> comms;
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    comms.swap(comms_);
  }
  // Each abort has its own thread. The communicators' kernels run one after the other, so all aborts must start before
  // any can finish, and NCCL 2.21 waits for each abort even within a group.
  std::vector<std::thread> aborters;
  for (const ncclComm_t comm : comms) {
    aborters.emplace_back([comm, device = device_] {
      cudaSetDevice(device);  // for this thread; otherwise NCCL would use the first GPU
      ncclCommAbort(comm);
    });
  }
  for (std::thread& aborter : aborters) aborter.join();
}

void Comms::require_alive() const {
  if (aborted_) fail(ErrorKind::peer, "NCCL's communicators were aborted");
}

void Comms::wait_until_ready(ncclComm_t comm) {
  const auto begin = std::chrono::steady_clock::now();
  for (;; std::this_thread::yield()) {
    ncclResult_t state = ncclSuccess;
    {
      const std::lock_guard lock(mutex_);
      require_alive();
      check(ncclCommGetAsyncError(comm, &state));
    }
    check(state);
    if (state == ncclSuccess) return;
    if (std::chrono::steady_clock::now() - begin > limit_) throw Overdue();
  }
}

}  // namespace weft::nccl
