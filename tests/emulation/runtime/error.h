// tests/emulation/runtime/error.h: errors of the emulated device: exceptions internally, CUDA's codes for its
// callers.
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

// Runs the body of a CUDA function: its exception becomes the result and the calling thread's last error.
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
