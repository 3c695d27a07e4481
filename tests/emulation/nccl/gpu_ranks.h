// tests/emulation/nccl/gpu_ranks.h: thread ranks with an emulated device each, connected by the emulated
// NCCL.
#pragma once

#include <cstdlib>
#include <functional>
#include <vector>

#include "parallel/nccl.h"
#include "tensor/memory.h"
#include "tensor/transfer.h"

namespace weft::testing {

[[maybe_unused]] inline const bool kEmulatedModules = [] {
  constexpr int kReplace = 1, kKeep = 0;  // tests/emulation/sanitized sets its own modules
  setenv("WEFT_CUDA_MODULE", WEFT_BINARY_DIR "/emulated/libweft_cuda.so", kKeep);
  setenv("WEFT_NCCL_MODULE", WEFT_BINARY_DIR "/emulated/libweft_nccl.so", kKeep);
  setenv("WEFT_EMULATION_DEVICES", "4", kReplace);
  return true;
}();

// `host` exchanges host values between the same ranks.
using GpuBody = std::function<void(Context& ctx, Communicator& world, Communicator& host)>;

inline void run_gpu_ranks(int size, const GpuBody& body, NcclLimits limits = {}) {
  run_thread_ranks(size, [&](Communicator& host) {
    use_device(Device::cuda, host.rank());
    Context ctx(Device::cuda);
    const auto world = make_nccl_communicator(ctx, host, limits);
    body(ctx, *world, host);
  });
}

inline Buffer floats(Context& ctx, const std::vector<float>& values) {
  Buffer buffer(values.size() * sizeof(float), ctx.device());
  upload(ctx, values.data(), buffer.tensor({static_cast<int64_t>(values.size())}));
  return buffer;
}

}  // namespace weft::testing
