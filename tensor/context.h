// tensor/context.h: what an op needs besides its arguments: the device, whether this is a dry run, cached plans.
//
// One Context a rank. Not thread-safe; ops called on it are ordered. On a dry run ops return after their checks.
#pragma once

#include <memory>

#include "tensor/tensor.h"

namespace weft {

class Context {
 public:
  explicit Context(Device device = Device::cpu, bool dry_run = false);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return device_; }
  bool dry_run() const { return dry_run_; }

  struct Runtime;  // the backend's own state (GEMM plans, streams); defined in tensor/cpu or tensor/cuda
  Runtime& runtime() const { return *runtime_; }

  void synchronize() const;  // waits for everything enqueued; nothing to do on the CPU

 private:
  Device device_;
  bool dry_run_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace weft
