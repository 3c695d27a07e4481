// parallel/nccl/check.h: converts return codes of NCCL and CUDA's runtime into Errors.
#pragma once

#include <nccl.h>  // includes CUDA's runtime

#include <string>

namespace weft::nccl {

std::string current_device();  // "device 0, NVIDIA H200", for messages

void check(cudaError_t status, const char* call);

void check(ncclResult_t result);  // "in progress" is not an error

std::string error_text(ncclResult_t result, const std::string& device);  // includes NCCL's last message

}  // namespace weft::nccl
