// parallel/nccl/check.h: converts return codes of NCCL and CUDA's runtime into Errors.
#pragma once

#include <nccl.h>  // includes CUDA's runtime

#include <string>

namespace weft::nccl {

std::string current_device();  // "device 0, NVIDIA H200", for messages

void check(cudaError_t status, const char* call);

// "In progress" is not an error: the calls of a group may return it before the group ends.
inline bool is_accepted(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }
void check(ncclResult_t result);

std::string error_text(ncclResult_t result, const std::string& device);  // includes NCCL's last message

}  // namespace weft::nccl
