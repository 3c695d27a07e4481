// tensor/context.h: holds what an op needs in addition to its arguments: the device, the dry-run flag and cached plans.
//
// Each rank has one Context. A Context is not thread-safe, and its ops run in the order of the calls. In a dry run, ops
// only check their arguments and measure scratch memory. set_num_threads sets the number of threads of CPU ops.
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
    // The copies run after all work that was enqueued earlier. After upload returns, the caller may overwrite `host`.
    // After download returns, the caller may read `host`.
    virtual void upload(const void* host, void* device, size_t bytes) = 0;
    virtual void download(const void* device, void* host, size_t bytes) = 0;
    virtual void copy(const void* from, void* to, size_t bytes) = 0;  // both on the device
    virtual void* stream() const { return nullptr; }                  // a GPU's cudaStream_t, for communicators
    // For a profiler, begin_range names the work enqueued until end_range (profiler_range.h). Ranges may be nested.
    virtual void begin_range(const char*) {}
    virtual void end_range() {}

    // Runs work() and chooses the fastest algorithm for each of its GEMMs that `known` does not list. The results of
    // work() are undefined. Later GEMMs use the known and the new choices. REQUIRES: no Recording exists yet.
    // Returns all choices, or "" if the device has only one algorithm. Pass the returned text as `known` after a
    // restart and on other ranks, because another tuning may choose differently, which changes the last bits of
    // results.
    virtual std::string tune(const std::string& known, const std::function<void()>& work) {
      static_cast<void>(known), static_cast<void>(work);
      return "";
    }

    // Records the ops that work() calls instead of running them. REQUIRES: work() does not wait, allocate, or copy
    // from or to the host. Throws RefusedRecording (tensor/refused_recording.h) if the device refuses; the ops can be
    // run afterwards, unless a communicator has failed. Returns nullptr if the device never records ops.
    struct Recording {
      virtual ~Recording() = default;
      virtual void replay() = 0;  // enqueues the recorded ops with the same arguments
    };
    virtual std::unique_ptr<Recording> record(const std::function<void()>&) { return nullptr; }
  };
  Runtime& runtime() const { return *runtime_; }

  // These call the runtime's functions, and tell the watch.
  std::unique_ptr<Runtime::Recording> record(const std::function<void()>& work) {
    return runtime_->record([&] {
      work();
      if (const std::shared_ptr<Watch> watch = watch_.lock()) watch->recording_ends();
    });
  }
  void replay(Runtime::Recording& recording) {
    recording.replay();
    if (const std::shared_ptr<Watch> watch = watch_.lock()) watch->replayed();
  }

  // A Watch monitors the device's work, as a communicator does for its collectives. The Context calls check() after
  // each wait for the device, before results are used. check() throws the errors that the watch has noticed.
  struct Watch {
    virtual ~Watch() = default;
    virtual void check() = 0;
    virtual void recording_ends() {}  // called while ops are still recorded
    virtual void replayed() {}        // called after a recording was enqueued
  };
  void set_watch(std::weak_ptr<Watch> watch) { watch_ = std::move(watch); }
  std::shared_ptr<Watch> watch() const { return watch_.lock(); }

  // The size of the scratch memory that ops keep between calls depends only on shapes. A dry run measures this size,
  // and reserve() allocates the memory, so that no op allocates later.
  size_t scratch_bytes() const { return runtime_->scratch_bytes(); }
  void reserve(const Context& dry) { runtime_->reserve(*dry.runtime_); }

  // Makes ops record their times in `trace` (tensor/op/op_trace.h), which the caller owns. nullptr stops the recording.
  void set_trace(OpTrace* trace) { trace_ = trace; }
  OpTrace* trace() const { return trace_; }

  void synchronize() const {  // waits for all enqueued work; returns immediately on the CPU
    runtime_->synchronize();
    after_wait();
  }
  void after_wait() const {  // call this after you wait for the device in any other way
    if (const std::shared_ptr<Watch> watch = watch_.lock()) watch->check();
  }

 private:
  Device device_;
  bool dry_run_;
  OpTrace* trace_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
  std::weak_ptr<Watch> watch_;
};

// Describes a device. Sizes of memory are in bytes, and 0 for the CPU.
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
bool binds_threads();  // true if OpenMP places threads on cores (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY)

bool has_bf16_instructions();   // true if matmuls can use avx512_bf16, as on processors with AMX
std::string cpu_description();  // "Intel(R) Xeon(R) Processor, kernels for AVX-512": names the kernels that run
void require_cpu_features();  // throws an Error with a remedy if the kernels use instructions that this processor lacks

}  // namespace weft
