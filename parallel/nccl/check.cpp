// parallel/nccl/check.cpp: writes the error messages of NCCL and CUDA.
#include "parallel/nccl/check.h"

#include "tensor/error.h"

namespace weft::nccl {

std::string current_device() {
  int index = 0;
  cudaDeviceProp device{};
  if (cudaGetDevice(&index) != cudaSuccess) return "no device";
  if (cudaGetDeviceProperties(&device, index) != cudaSuccess) return fmt::format("device {}", index);
  return fmt::format("device {}, {}", index, std::string(device.name));
}

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorMemoryAllocation)
    fail(ErrorKind::usage, fmt::format("out of GPU memory ({}) in {}", current_device(), call));
  fail(ErrorKind::internal, fmt::format("{} failed ({}): {}; an earlier kernel may be the cause", call,
                                        current_device(), cudaGetErrorString(status)));
}

void check(ncclResult_t result) {
  if (is_accepted(result)) return;
  const bool refused = result == ncclInvalidUsage || result == ncclInvalidArgument;
  fail(refused ? ErrorKind::usage : ErrorKind::peer, error_text(result, current_device()));
}

std::string error_text(ncclResult_t result, const std::string& device) {
  const std::string words = ncclGetLastError(nullptr);
  return fmt::format("NCCL failed ({}): {}{}; set NCCL_DEBUG=WARN for details", device, ncclGetErrorString(result),
                     words.empty() ? "" : fmt::format(" ({})", printable(words, 200)));
}

}  // namespace weft::nccl
