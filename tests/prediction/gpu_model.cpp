// tests/prediction/gpu_model.cpp: the GPUs. No number was measured by this project.
#include "tests/prediction/gpu_model.h"

namespace weft {
namespace {

// SMs and clocks are those of the data sheets (of SXM boards). All else is assumed: bandwidths of 83 to 85 % of the
// data sheets'; main loops of matrix products at 75 to 80 % of their 989 Tflop/s (A100: 312),
// which is 739 Tflop/s on a H100 and 790, as large products reach, on a H200; gaps, copies and waits as they are
// typical of these GPUs.
constexpr GpuModel kH100{.name = "NVIDIA H100 SXM",
                         .sms = 132,
                         .shared_bytes_per_sm = 228 * 1024,
                         .clock = 1.755e9,
                         .bandwidth = 2.85e12,
                         .matmul_flops_per_sm = 5.6e12,
                         .gap_graph = 1.3e-6,
                         .gap_stream = 2.2e-6,
                         .seconds_to_device_copy = 0.6e-6,
                         .seconds_to_host = 60e-6};

constexpr GpuModel h200() {
  GpuModel gpu = kH100;
  gpu.name = "NVIDIA H200 SXM";
  gpu.bandwidth = 4.0e12;
  gpu.matmul_flops_per_sm = 6.0e12;
  return gpu;
}

constexpr GpuModel a100() {
  GpuModel gpu = kH100;
  gpu.name = "NVIDIA A100 SXM 80 GB";
  gpu.sms = 108;
  gpu.shared_bytes_per_sm = 164 * 1024;
  gpu.clock = 1.41e9;
  gpu.bandwidth = 1.73e12;
  gpu.matmul_flops_per_sm = 2.16e12;
  return gpu;
}

constexpr GpuModel kH200 = h200(), kA100 = a100();

}  // namespace

const GpuModel& gpu_model(GpuKind kind) {
  return kind == GpuKind::h200 ? kH200 : kind == GpuKind::a100 ? kA100 : kH100;
}

}  // namespace weft
