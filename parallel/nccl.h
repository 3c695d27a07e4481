// parallel/nccl.h: collectives between GPUs over NVIDIA's NCCL, beside the computation.
//
// NCCL is linked by a module of its own, libweft_nccl.so (parallel/nccl/), which is opened when it is first asked for;
// WEFT_NCCL_MODULE names another file than the one beside the program.
//
// Order: all collectives of a Context, whatever their group, run one after the other on one communication stream, in
// the order of the calls; so two groups (dp and tp) can never wait for each other. Events order that stream and the
// Context's own: a collective begins when all that was enqueued before it is done, and what is enqueued after it (after
// wait(), for one that was started beside the caller) finds its result. The host waits for nothing. All of this can be
// captured in a CUDA graph; capture in mode thread-local, and destroy the graph before the communicators.
//
// Failures: a watchdog looks at the collectives from a thread of its own (parallel/nccl/watchdog.h). When NCCL reports
// an error, or a collective has not ended within the limit, it aborts everything that this Context has under way, and
// the next wait for the device, or the next call here, throws an Error of kind peer that names the collective. While
// an exception unwinds past a communicator, what is under way is aborted too: the peers may never come.
//
// Bits: after an all_reduce all ranks hold the same ones. Sums are added in NCCL's order, not in that of the ranks. The
// same number of ranks on the same machines with the same version and settings gives the same bits in every run with
// NCCL_ALGO=Ring or Tree; sums made within a switch (NVLS; NCCL_NVLS_ENABLE=0 turns them off) are not promised to. Of a
// maximum a NaN may be lost.
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
  std::chrono::milliseconds collective = std::chrono::minutes(10);  // for one to end, and for the ranks to connect
  std::chrono::milliseconds notice = std::chrono::minutes(1);  // from a failure to its Error; then the process is ended
};

// The ranks of `host`, for tensors on ctx's device, which is a GPU; all of them call it, and split(). Tensors in host
// memory go over `host`. The first communicator on a Context sets the limits of all. ctx and `host` outlive it.
std::unique_ptr<Communicator> make_nccl_communicator(Context& ctx, Communicator& host, NcclLimits limits = {});

std::string reason_without_nccl();  // empty: the module, and what it links, is on this machine

// Lets the processes of a run use one GPU together, which NCCL otherwise refuses: by its environment, before this
// process' first communicator; what is set there already stays. For tests: slow, on one host, and of processes only,
// not of thread ranks.
void share_one_gpu();

// The variables for it, for a version as ncclGetVersion gives it; `process` is another text in each process.
std::vector<std::pair<std::string, std::string>> one_gpu_environment(int nccl_version, const std::string& process);

}  // namespace weft
