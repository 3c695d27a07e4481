// parallel/nccl.h: provides collectives between GPUs over NVIDIA's NCCL, which overlap with the computation.
//
// NCCL is linked into a separate module, libweft_nccl.so (parallel/nccl/), which is loaded on first use. The default is
// the file next to the program; the variable WEFT_NCCL_MODULE names a different file.
//
// Order: all collectives of a Context, in any group, run in call order on one communication stream, so the dp and tp
// groups can never wait for each other. Events order this stream and the Context's. A collective starts when all work
// enqueued before it is done. Work enqueued after it (after wait(), if it is asynchronous) sees its result. The host
// never waits. CUDA graphs can capture all this in thread-local mode; destroy them before the communicators.
//
// Failures: a watchdog checks the collectives from its own thread (parallel/nccl/watchdog.h). If NCCL reports an error,
// or a collective exceeds the time limit, the watchdog aborts all collectives of this Context. The next wait for the
// device, or the next call of a communicator, throws an Error of kind peer that names the collective. While an
// exception unwinds past a communicator, collectives in progress are also aborted, because the peers may never arrive.
//
// Bits: after an all-reduce, the bits are the same on all ranks. Sums are added in NCCL's order, not in rank order.
// With NCCL_ALGO=Ring or Tree, the same number of ranks on the same machines with the same version and settings gives
// the same bits in every run. Sums inside a switch (NVLS) may differ between runs; NCCL_NVLS_ENABLE=0 turns them off. A
// max may lose a NaN.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

struct NcclLimits {
  std::chrono::milliseconds collective = std::chrono::minutes(10);  // limit for a collective, and for connecting
  std::chrono::milliseconds notice = std::chrono::minutes(1);       // max time from a failure to its Error
};

// Returns a communicator of `host`'s ranks for tensors on ctx's GPU. Tensors in host memory use `host`. The first
// communicator on a Context sets the limits for all communicators. REQUIRES: all ranks call this function and split();
// ctx and `host` outlive the result.
std::unique_ptr<Communicator> make_nccl_communicator(Context& ctx, Communicator& host, NcclLimits limits = {});

std::string reason_without_nccl();  // returns "" if the module and its libraries can be loaded

// Lets the processes of a run share one GPU, which NCCL otherwise refuses. Sets the environment variables that are not
// set yet. Only for tests, because it is slow, and only for processes on one host, not for thread ranks. REQUIRES: the
// process has not made a communicator yet.
void share_one_gpu();

// Returns the variables that share_one_gpu() sets. nccl_version is in ncclGetVersion's format. REQUIRES: `process`
// differs between processes.
std::vector<std::pair<std::string, std::string>> one_gpu_environment(int nccl_version, const std::string& process);

}  // namespace weft
