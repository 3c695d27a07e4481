// tests/prediction/gpu_model.h: what the prediction assumes of a GPU.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/enum_names.h"

namespace weft {

enum class GpuKind : uint8_t { h100, h200, a100 };
constexpr EnumNames<GpuKind, 3> enum_names(GpuKind) {
  return {{{"h100", GpuKind::h100}, {"h200", GpuKind::h200}, {"a100", GpuKind::a100}}};
}

struct GpuModel {
  const char* name;
  int sms;                        // streaming multiprocessors
  int shared_bytes_per_sm;        // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
  double clock;                   // Hz
  double bandwidth;               // bytes/s of its memory that kernels reach
  double matmul_flops_per_sm;     // operations/s in the main loop of a bf16 or f16 matrix product
  double gap_graph, gap_stream;   // seconds between kernels of a CUDA graph, and of a stream
  double seconds_to_device_copy;  // of a copy of a few kilobytes from the host, in addition to its gap
  double seconds_to_host;         // of a read by the host that waits, until the next kernel starts
  double gap(bool graph) const { return graph ? gap_graph : gap_stream; }
  int blocks_per_sm(int shared_bytes, int max) const {  // with the 1,024 bytes that CUDA adds to each
    return std::min(max, shared_bytes_per_sm / (shared_bytes + 1024));
  }
  double matmul_flops() const { return sms * matmul_flops_per_sm; }
};

const GpuModel& gpu_model(GpuKind kind);

}  // namespace weft
