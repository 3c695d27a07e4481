// tensor/context.h: what an op needs besides its arguments: the device, whether this is a dry run, cached plans.
//
// One Context a rank. Not thread-safe; ops called on it are ordered. On a dry run ops return after their checks.
// CPU ops use as many threads as the calling thread was given by set_num_threads.
#pragma once

#include <memory>
#include <string>

#include "tensor/tensor.h"

namespace weft {

struct OpTrace;

class Context {
 public:
  explicit Context(Device device = Device::cpu, bool dry_run = false);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return device_; }
  bool dry_run() const { return dry_run_; }

  struct Runtime {  // the backend's own state (GEMM plans, scratch, streams); each backend derives its own
    virtual ~Runtime() = default;
    virtual void reserve(const Runtime& dry) = 0;
    virtual size_t scratch_bytes() const = 0;
  };
  Runtime& runtime() const { return *runtime_; }

  // Memory that ops work in beside their arguments: kept from call to call, and sized by shapes alone. A dry run only
  // measures it; reserve() takes what one measured, so that no op takes any later.
  size_t scratch_bytes() const { return runtime_->scratch_bytes(); }
  void reserve(const Context& dry) { runtime_->reserve(*dry.runtime_); }

  // Where ops note their times (tensor/op_trace.h); nullptr: nowhere. The trace is the caller's.
  void set_trace(OpTrace* trace) { trace_ = trace; }
  OpTrace* trace() const { return trace_; }

  void synchronize() const;  // waits for everything enqueued; nothing to do on the CPU

 private:
  Device device_;
  bool dry_run_;
  OpTrace* trace_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
};

void set_num_threads(int count);  // of ops called by this thread
int num_threads();

bool has_bf16_instructions();   // for products: avx512_bf16, which processors with AMX have too
std::string cpu_description();  // "Intel(R) Xeon(R) Processor, kernels for AVX-512": those that run
void require_cpu_features();    // an Error naming the way out if the kernels use instructions this processor lacks

}  // namespace weft
