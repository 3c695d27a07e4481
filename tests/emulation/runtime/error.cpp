// tests/emulation/runtime/error.cpp: error codes as text; each thread's last error with its details.
#include "tests/emulation/runtime/error.h"

#include <algorithm>
#include <utility>

#include "tests/emulation/machine/machine.h"

namespace weft::emulation {
namespace {

struct LastError {
  cudaError_t status = cudaSuccess;  // for cudaGetLastError
  cudaError_t explained = cudaSuccess;
  std::string text;  // cudaGetErrorString(explained)
};
LastError& last_error() {
  thread_local LastError error;
  return error;
}

struct Code {
  cudaError_t status;
  const char *name, *text;
};
constexpr Code kCodes[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorUnsupportedPtxVersion, "cudaErrorUnsupportedPtxVersion",
     "the provided PTX was compiled with an unsupported toolchain."},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not yet initialized"},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch",
     "system has unsupported display driver / cuda driver combination"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capture"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Code* find(cudaError_t status) {
  const auto* const found = std::ranges::find(kCodes, status, &Code::status);
  return found == std::end(kCodes) ? nullptr : found;
}

}  // namespace

cudaError_t report(cudaError_t status, std::string detail) {
  LastError& error = last_error();
  if (status == cudaErrorNotReady) return status;  // no error, by CUDA's documentation
  const Code* const code = find(status);
  error = {status, status, std::string(code == nullptr ? "unrecognized error code" : code->text)};
  if (!detail.empty()) error.text += ": " + detail;
  return status;
}

}  // namespace weft::emulation

using namespace weft::emulation;

const char* cudaGetErrorName(cudaError_t status) {
  const Code* const code = find(status);
  return code == nullptr ? "unrecognized error code" : code->name;
}

const char* cudaGetErrorString(cudaError_t status) {
  if (status != cudaSuccess && last_error().explained == status) return last_error().text.c_str();
  const Code* const code = find(status);
  return code == nullptr ? "unrecognized error code" : code->text;
}

// A device's fault persists; other errors are cleared when they are read.
cudaError_t cudaPeekAtLastError() {
  call([] {
    const auto lock = machine().lock();
    if (machine().num_devices() > 0) machine().sound_device(current_device());
  });
  return last_error().status;
}

cudaError_t cudaGetLastError() {
  cudaPeekAtLastError();
  return std::exchange(last_error().status, cudaSuccess);
}
