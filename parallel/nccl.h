// parallel/nccl.h: collectives between GPUs over NVIDIA's NCCL, overlapped with the computation.
//
// NCCL is linked into a separate module, libweft_nccl.so (parallel/nccl/), which is loaded on first use. The default is
// the module next to the program; WEFT_NCCL_MODULE overrides it.
//
// Order: all collectives of a Context, of any group, run in call order on one communication stream, so two groups (dp
// and tp) can never wait for each other. Events order this stream and the Context's own. A collective starts when all
// work enqueued before it is done. Work enqueued after it (after wait(), for an asynchronous one) sees its result. The
// host never waits. A CUDA graph can capture all of this in thread-local mode. Destroy it before the communicators.
//
// Failures: a watchdog checks the collectives from its own thread (parallel/nccl/watchdog.h). If NCCL reports an error,
// or a collective exceeds the time limit, it aborts all collectives of this Context. The next wait for the device, or
// the next call here, throws an Error of kind peer that names the collective. While an exception unwinds past a
// communicator, collectives in progress are also aborted, because the peers may never arrive.
//
// Bits: after an all_reduce all ranks hold the same bits. Sums are added in NCCL's order, not in rank order. With
// NCCL_ALGO=Ring or Tree, the same number of ranks on the same machines with the same version and settings gives the
// same bits in every run. Sums computed within a switch (NVLS; NCCL_NVLS_ENABLE=0 turns them off) do not guarantee
// this. A maximum may lose a NaN.
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

// Returns a communicator of `host`'s ranks for tensors on ctx's GPU. Tensors in host memory go over `host`. The first
// communicator on a Context sets the limits for all. REQUIRES: all ranks call this function and split(); ctx and `host`
// outlive the result.
std::unique_ptr<Communicator> make_nccl_communicator(Context& ctx, Communicator& host, NcclLimits limits = {});

std::string reason_without_nccl();  // returns "" if the module and its libraries are on this machine

// Lets the processes of a run share one GPU, which NCCL otherwise refuses, by setting environment variables that are
// not yet set. For tests: it is slow, and works for processes (not thread ranks) on one host. REQUIRES: it is called
// before this process's first communicator.
void share_one_gpu();

// Returns the variables that share_one_gpu() sets. nccl_version is in ncclGetVersion's format. REQUIRES: `process`
// differs between processes.
std::vector<std::pair<std::string, std::string>> one_gpu_environment(int nccl_version, const std::string& process);

}  // namespace weft
