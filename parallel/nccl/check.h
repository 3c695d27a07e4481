// parallel/nccl/check.h: return codes of NCCL and of CUDA's runtime as Errors.
#pragma once

#include <nccl.h>  // brings CUDA's runtime

#include <string>

namespace weft::nccl {

std::string current_device();  // "device 0, NVIDIA H200", for messages

void check(cudaError_t status, const char* call);

void check(ncclResult_t result);  // what is still in progress is no error

std::string error_text(ncclResult_t result, const std::string& device);  // with NCCL's own last words

}  // namespace weft::nccl
