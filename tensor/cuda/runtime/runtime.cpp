// tensor/cuda/runtime/runtime.cpp: implements the state of a Context on a GPU, and the messages for CUDA's errors.
#include "tensor/cuda/runtime/runtime.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>

#include "tensor/cuda/gemm/gemm.h"
#include "tensor/error.h"

namespace weft::cuda {
namespace {

thread_local const char* last_kernel = nullptr;

// CUDA error codes in this range come from running kernels, and any later call may report them.
bool is_of_a_running_kernel(cudaError_t status) {
  return status >= cudaErrorIllegalAddress && status < cudaErrorNotSupported && status != cudaErrorLaunchOutOfResources;
}

}  // namespace

void note_launch(const char* kernel) { last_kernel = kernel; }

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // clears the error, which the next call would report again
  if (status == cudaErrorMemoryAllocation) fail_without_memory(what);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) fail_without_device(status);
  const std::string text = cudaGetErrorString(status), device = current_device();  // which may fail, too
  if (const char* const advice = advice_for(status))
    fail(ErrorKind::usage,
         fmt::format("{} failed ({}): {}; {}; --device=cpu runs without a GPU", what, device, text, advice));
  std::string earlier;
  if (is_of_a_running_kernel(status) && last_kernel != nullptr) {
    earlier = fmt::format(", from an earlier kernel; last launch: {}; set CUDA_LAUNCH_BLOCKING=1 to find the kernel",
                          last_kernel);
  }
  fail(ErrorKind::internal,
       fmt::format("{} failed ({}): {} ({}){}", what, device, text, cudaGetErrorName(status), earlier));
}

void fail_without_memory(size_t bytes) {
  (void)cudaGetLastError();
  fail_without_memory(fmt::format("{:.1f} MiB could not be allocated", static_cast<double>(bytes) / (1 << 20)));
}

void fail_without_memory(const std::string& what) {
  fail(ErrorKind::usage,
       fmt::format("out of GPU memory ({}): {}; use a smaller model or, in training, lower batch.rows",
                   current_device(), what));
}

void Runtime::begin_range(const char* name) { nvtxRangePushA(name); }
void Runtime::end_range() { nvtxRangePop(); }

Scratch::~Scratch() { release(data_); }

void Scratch::reserve(size_t bytes, bool dry_run) {
  bytes_ = std::max(bytes_, bytes);
  if (dry_run || allocated_ >= bytes_) return;
  release(data_);  // waits for kernels that still use it
  data_ = nullptr;
  allocated_ = 0;
  const cudaError_t status = cudaMalloc(&data_, bytes_);
  if (status == cudaErrorMemoryAllocation) fail_without_memory(bytes_);
  check(status, "cudaMalloc");
  allocated_ = bytes_;
}

// A dry run does not touch a GPU, so memory can be planned on a machine without a GPU.
Runtime::Runtime(bool dry_run) : dry_run_(dry_run) {
  if (dry_run) return;
  require_supported_device();
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}

Runtime::~Runtime() {
  if (stream_ == nullptr) return;
  (void)cudaStreamSynchronize(stream_);  // enqueued work may still use this memory
  (void)cudaStreamDestroy(stream_);
}

void Runtime::reserve(const Context::Runtime& dry) {
  const auto& other = static_cast<const Runtime&>(dry);
  for (int use = 0; use < kNumUses; ++use)
    reserve(static_cast<Use>(use), other.scratch_[static_cast<size_t>(use)].bytes());
}

void Runtime::reserve(Use use, size_t bytes) {
  Scratch& scratch = scratch_[use];
  if (num_graphs_ > 0 && bytes > scratch.bytes()) {
    fail(ErrorKind::internal, fmt::format("an op needs {} bytes of scratch memory, but CUDA graphs were recorded "
                                          "with {}: the memory plan of the step is too small",
                                          bytes, scratch.bytes()));
  }
  scratch.reserve(bytes, dry_run_);
}

size_t Runtime::scratch_bytes() const {
  size_t bytes = 0;
  for (const Scratch& scratch : scratch_) bytes += footprint(scratch.bytes());
  return bytes;
}

void Runtime::synchronize() {
  if (!dry_run_) check(cudaStreamSynchronize(stream_), "synchronize");
}

void Runtime::upload(const void* host, void* device, size_t bytes) { ring_.upload(host, device, bytes, stream_); }

void Runtime::download(const void* device, void* host, size_t bytes) { ring_.download(device, host, bytes, stream_); }

void Runtime::copy(const void* from, void* to, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copy");
}

std::unique_ptr<Context::Runtime> make_runtime(bool dry_run) { return std::make_unique<Runtime>(dry_run); }

}  // namespace weft::cuda
