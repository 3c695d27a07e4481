// tensor/context.h: what an op needs besides its arguments: the device, the dry-run flag, cached plans.
//
// Each rank has one Context. It is not thread-safe, and ops called on it run in order. In a dry run ops return after
// their checks. CPU ops use as many threads as set_num_threads gave the calling thread.
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

  struct Runtime {  // the backend's own state (GEMM plans, scratch, streams); each backend derives its own class
    virtual ~Runtime() = default;
    virtual void reserve(const Runtime& dry) = 0;
    virtual size_t scratch_bytes() const = 0;
    virtual void synchronize() = 0;
    // The copies are enqueued after earlier work. When upload returns, the host may overwrite `host`; when download
    // returns, it may read it.
    virtual void upload(const void* host, void* device, size_t bytes) = 0;
    virtual void download(const void* device, void* host, size_t bytes) = 0;
    virtual void copy(const void* from, void* to, size_t bytes) = 0;  // both on the device
    virtual void* stream() const { return nullptr; }                  // a GPU's cudaStream_t, for communicators
    // These name the work enqueued between them for a profiler (profiler_range.h). Ranges nest.
    virtual void begin_range(const char*) {}
    virtual void end_range() {}

    // Runs work() to find the fastest way to compute each of its GEMMs that `known` lacks. What work() writes is
    // arbitrary. Later GEMMs use the known and the new choices. REQUIRES: no Recording exists yet. Returns all choices.
    // Pass them as `known` after a restart and on other ranks, because repeated tuning may choose differently, which
    // changes the last bits of results. Returns "" if the device offers only one way.
    virtual std::string tune(const std::string& known, const std::function<void()>& work) {
      static_cast<void>(known), static_cast<void>(work);
      return "";
    }

    // Records the ops that work() calls instead of running them. REQUIRES: work() does not wait, allocate, or copy from
    // or to the host. Returns nullptr if the device cannot record.
    struct Recording {
      virtual ~Recording() = default;
      virtual void replay() = 0;  // enqueues the recorded ops, on the same memory
    };
    virtual std::unique_ptr<Recording> record(const std::function<void()>&) { return nullptr; }
  };
  Runtime& runtime() const { return *runtime_; }

  // Watches the device's work from outside, as a communicator does for its collectives. check() is called after each
  // wait for the device, before its results are used, and throws errors that the watch has noticed.
  struct Watch {
    virtual ~Watch() = default;
    virtual void check() = 0;
  };
  void set_watch(std::weak_ptr<Watch> watch) { watch_ = std::move(watch); }
  std::shared_ptr<Watch> watch() const { return watch_.lock(); }

  // Ops keep scratch memory between calls; its size depends only on shapes. A dry run measures it, and reserve()
  // allocates what a dry run measured, so that no op allocates later.
  size_t scratch_bytes() const { return runtime_->scratch_bytes(); }
  void reserve(const Context& dry) { runtime_->reserve(*dry.runtime_); }

  // Sets where ops record their times (tensor/op/op_trace.h), or nullptr. The caller owns the trace.
  void set_trace(OpTrace* trace) { trace_ = trace; }
  OpTrace* trace() const { return trace_; }

  void synchronize() const {  // waits for all enqueued work; returns immediately on the CPU
    runtime_->synchronize();
    after_wait();
  }
  void after_wait() const {  // call it after waiting for the device in any other way
    if (const std::shared_ptr<Watch> watch = watch_.lock()) watch->check();
  }

 private:
  Device device_;
  bool dry_run_;
  OpTrace* trace_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
  std::weak_ptr<Watch> watch_;
};

// A device's description of itself and its memory in bytes (0 for the CPU).
struct DeviceProperties {
  std::string name;         // "NVIDIA H200", or cpu_description()
  std::string version;      // driver and libraries: "compute 9.0, driver 13.0, runtime 13.0, cuBLASLt 13.0.2"
  std::string unique_id;    // identifies one piece of hardware
  std::string pci_address;  // in sysfs's format: "0000:1b:00.0"; empty for the CPU
  size_t total_memory = 0, free_memory = 0;
};
int num_devices(Device device);                     // throws if this build or machine has no such backend
void use_device(Device device, int index);          // for everything that the calling thread creates from now on
DeviceProperties device_properties(Device device);  // describes the device in use

void set_num_threads(int count);  // for ops called by this thread
int num_threads();

bool has_bf16_instructions();   // true if matmuls can use avx512_bf16, as on processors with AMX
std::string cpu_description();  // "Intel(R) Xeon(R) Processor, kernels for AVX-512": names the kernels that run
void require_cpu_features();  // throws an Error with a remedy if the kernels use instructions that this processor lacks

}  // namespace weft
