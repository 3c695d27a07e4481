// tensor/cuda/runtime/runtime.h: defines the CUDA backend's state in a Context: stream, cuBLASLt plans, scratch memory,
// pinned memory for copies. This file contains no kernels, so any C++ compiler can compile it.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "tensor/context.h"
#include "tensor/cuda/runtime/pinned_ring.h"
#include "tensor/ops.h"

namespace weft::cuda {

class GemmPlans;  // gemm.h

// Throws an Error if a call of CUDA's runtime failed; `what` is the call or the kernel. If the call reports an error of
// an earlier kernel, the message says so.
void check(cudaError_t status, const char* what);
[[noreturn]] void fail_without_memory(size_t bytes);
[[noreturn]] void fail_without_memory(const std::string& what);  // for libraries, whose memory is not in the plan
void note_launch(const char* kernel);  // remembers the thread's last launch for messages of later errors

// Device memory for one use. It is as large as the largest call needs, and is kept between calls. A dry run only
// records the size.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void reserve(size_t bytes, bool dry_run);
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0, allocated_ = 0;
};

struct Runtime final : Context::Runtime {
  explicit Runtime(bool dry_run);
  ~Runtime() override;
  void reserve(const Context::Runtime& dry) override;
  size_t scratch_bytes() const override;
  void synchronize() override;
  void upload(const void* host, void* device, size_t bytes) override;
  void download(const void* device, void* host, size_t bytes) override;
  void copy(const void* from, void* to, size_t bytes) override;
  void* stream() const override { return stream_; }
  void begin_range(const char* name) override;
  void end_range() override;
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;           // graph.cpp
  std::string tune(const std::string& known, const std::function<void()>& work) override;  // gemm/gemm.cpp

  enum Use { kEmbedding, kReduction, kProduct, kBias, kNumUses };
  void reserve(Use use, size_t bytes);
  template <typename T>
  T* scratch(Use use) const {
    return static_cast<T*>(scratch_[use].data());
  }

  cudaStream_t stream_ = nullptr;
  std::unique_ptr<GemmPlans> gemm;  // created by the first GEMM

 private:
  bool dry_run_;
  int num_graphs_ = 0;  // number of existing graphs, which contain addresses of scratch memory
  std::array<Scratch, kNumUses> scratch_;
  PinnedRing ring_;
};

inline Runtime& runtime(Context& ctx) { return static_cast<Runtime&>(ctx.runtime()); }

std::unique_ptr<Context::Runtime> make_runtime(bool dry_run);

// These use the current device (tensor/cuda/runtime/memory.cpp).
void* allocate(size_t bytes);
void release(void* data) noexcept;
size_t footprint(size_t bytes);

// These are defined in tensor/cuda/runtime/device.cpp.
int num_devices();
void use_device(int index);
DeviceProperties properties();
[[noreturn]] void fail_without_device(cudaError_t status);  // the message names the reason
const char* advice_for(cudaError_t status);                 // for errors that users can mend; nullptr for others
void require_kernels();           // throws if the module has no code for this device (init.cu)
std::string current_device();     // "device 0, NVIDIA H200", for messages
void require_supported_device();  // throws if kernels do not run on this device

// The files of tensor/cuda define these ops. In a dry run, measure() reserves the scratch memory of an op. Most ops
// need no scratch memory.
#define WEFT_DECLARE_CUDA_OP(function, Arguments, ...) void function(Context& ctx, const ops::Arguments& a);
WEFT_OPS(WEFT_DECLARE_CUDA_OP)
#undef WEFT_DECLARE_CUDA_OP

int64_t saved_numel(Activation activation, DType storage, int64_t rows, int64_t cols);

// These compute what cuBLASLt has no algorithm for (gemm_fallback.cu, gemm_bits.cu).
void gemm_fallback(Context& ctx, const ops::Gemm& a);
void relu_with_bits(Context& ctx, const Tensor& c, const Tensor& bits);  // in place; `bits` records where c is positive
void keep_by_bits(Context& ctx, const Tensor& c, const Tensor& bits);    // sets the other elements of c to 0

template <typename Arguments>
void measure(Context&, const Arguments&) {}
void measure(Context& ctx, const ops::Gemm& a);
void measure(Context& ctx, const ops::EmbeddingBackward& a);
void measure(Context& ctx, const ops::ColumnSum& a);
void measure(Context& ctx, const ops::Sum& a);
void measure(Context& ctx, const ops::SumSquares& a);
void measure(Context& ctx, const ops::NormForward& a);
void measure(Context& ctx, const ops::NormBackward& a);
void measure(Context& ctx, const ops::ResidualNormForward& a);
void measure(Context& ctx, const ops::ResidualNormBackward& a);
void measure(Context& ctx, const ops::AttentionForward& a);
void measure(Context& ctx, const ops::AttentionBackward& a);

}  // namespace weft::cuda
