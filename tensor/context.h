// tensor/context.h: what an op needs besides its arguments: the device, whether this is a dry run, cached plans.
//
// One Context a rank. Not thread-safe; ops called on it are ordered. On a dry run ops return after their checks.
// CPU ops use as many threads as the calling thread was given by set_num_threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

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
    virtual void synchronize() = 0;
    // Enqueued behind what came before; the host may write `host` again when upload returns, and read it when download
    // does.
    virtual void upload(const void* host, void* device, size_t bytes) = 0;
    virtual void download(const void* device, void* host, size_t bytes) = 0;
    virtual void copy(const void* from, void* to, size_t bytes) = 0;  // both of the device
    virtual void* stream() const { return nullptr; }                  // a GPU's cudaStream_t, for communicators
    // Name what is enqueued between them, for a profiler (profiler_range.h); ranges nest.
    virtual void begin_range(const char*) {}
    virtual void end_range() {}

    // What work() asks for is noted and not done; it may neither wait, nor allocate, nor copy from or to the host.
    // nullptr: this device notes nothing.
    struct Recording {
      virtual ~Recording() = default;
      virtual void replay() = 0;  // enqueues all of it, on the same memory
    };
    virtual std::unique_ptr<Recording> record(const std::function<void()>&) { return nullptr; }
  };
  Runtime& runtime() const { return *runtime_; }

  // Who looks after the device's work from outside, as a communicator does for its collectives: told after each wait
  // for the device, it throws what it noticed meanwhile, before anybody uses what the device computed.
  struct Watch {
    virtual ~Watch() = default;
    virtual void check() = 0;
  };
  void set_watch(std::weak_ptr<Watch> watch) { watch_ = std::move(watch); }
  std::shared_ptr<Watch> watch() const { return watch_.lock(); }

  // Memory that ops work in beside their arguments: kept from call to call, and sized by shapes alone. A dry run only
  // measures it; reserve() takes what one measured, so that no op takes any later.
  size_t scratch_bytes() const { return runtime_->scratch_bytes(); }
  void reserve(const Context& dry) { runtime_->reserve(*dry.runtime_); }

  // Where ops note their times (tensor/op_trace.h); nullptr: nowhere. The trace is the caller's.
  void set_trace(OpTrace* trace) { trace_ = trace; }
  OpTrace* trace() const { return trace_; }

  void synchronize() const {  // waits for everything enqueued; nothing to do on the CPU
    runtime_->synchronize();
    after_wait();
  }
  void after_wait() const {  // whoever waits for the device otherwise calls it
    if (const std::shared_ptr<Watch> watch = watch_.lock()) watch->check();
  }

 private:
  Device device_;
  bool dry_run_;
  OpTrace* trace_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
  std::weak_ptr<Watch> watch_;
};

// What a device calls itself, and its memory in bytes (0: the CPU's is not asked here).
struct DeviceProperties {
  std::string name;       // "NVIDIA H200", or cpu_description()
  std::string version;    // of driver and libraries: "compute 9.0, driver 13.0, runtime 13.0, cuBLASLt 13.0.2"
  std::string unique_id;  // the same only for the same piece of hardware
  size_t total_memory = 0, free_memory = 0;
};
int num_devices(Device device);                     // an Error if this build or machine has no such backend
void use_device(Device device, int index);          // by the calling thread, for all that it makes from here on
DeviceProperties device_properties(Device device);  // of the one in use

void set_num_threads(int count);  // of ops called by this thread
int num_threads();

bool has_bf16_instructions();   // for products: avx512_bf16, which processors with AMX have too
std::string cpu_description();  // "Intel(R) Xeon(R) Processor, kernels for AVX-512": those that run
void require_cpu_features();    // an Error naming the way out if the kernels use instructions this processor lacks

}  // namespace weft
