// tests/emulation/runtime/error.h: how the emulated device fails: inside it by exceptions, for its callers by CUDA's
// codes.
#pragma once

#include <cuda_runtime_api.h>

#include <exception>
#include <stdexcept>
#include <string>

#include "tests/emulation/runtime/device.h"

namespace weft::emulation {

struct Failure : std::runtime_error {
  Failure(cudaError_t code, const std::string& what) : std::runtime_error(what), status(code) {}
  cudaError_t status;
};

[[noreturn]] inline void fail(cudaError_t status, const std::string& what) { throw Failure(status, what); }

// The body of each function of CUDA's: what it throws is the result, and the calling thread's last error.
template <typename Body>
cudaError_t call(Body&& body) {
  try {
    body();
    return cudaSuccess;
  } catch (const Failure& failure) {
    return report(failure.status, failure.what());
  } catch (const std::exception& error) {
    return report(cudaErrorUnknown, error.what());
  }
}

}  // namespace weft::emulation
