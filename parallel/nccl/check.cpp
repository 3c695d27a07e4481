// parallel/nccl/check.cpp: what NCCL and CUDA say.
#include "parallel/nccl/check.h"

#include "tensor/error.h"

namespace weft::nccl {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  int device = -1;
  (void)cudaGetDevice(&device);
  fail(ErrorKind::internal,
       fmt::format("{} (device {}): {}; an earlier kernel may be the cause", call, device, cudaGetErrorString(status)));
}

void check(ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const bool refused = result == ncclInvalidUsage || result == ncclInvalidArgument;
  fail(refused ? ErrorKind::usage : ErrorKind::peer, error_text(result));
}

std::string error_text(ncclResult_t result) {
  const std::string words = ncclGetLastError(nullptr);
  return fmt::format("NCCL reports: {}{}; NCCL_DEBUG=WARN says more", ncclGetErrorString(result),
                     words.empty() ? "" : fmt::format(" ({})", printable(words, 200)));
}

}  // namespace weft::nccl
