// trainer/prediction/gpu_model.cpp: the GPUs. No number was measured by this project.
#include "trainer/prediction/gpu_model.h"

#include <cassert>

namespace weft {
namespace {

// SMs and clocks are those of the data sheets (of SXM boards). All else is assumed: bandwidths of 83 to 85 % of the
// data sheets'; main loops of matrix products at 75 to 80 % of their 989 Tflop/s (A100: 312),
// which is 739 Tflop/s on a H100 and 790, as large products reach, on a H200; gaps, copies and waits as they are
// typical of these GPUs.
constexpr GpuModel kH100{.name = "NVIDIA H100 SXM",
                         .sms = 132,
                         .clock = 1.755e9,
                         .bandwidth = 2.85e12,
                         .data_sheet_flops = 989e12,
                         .data_sheet_bandwidth = 3.35e12,
                         .matmul_flops_per_sm = 5.6e12,
                         .gap_graph = 1.3e-6,
                         .gap_stream = 2.2e-6,
                         .seconds_to_device_copy = 0.6e-6,
                         .seconds_to_host = 60e-6};

constexpr GpuModel h200() {
  GpuModel gpu = kH100;
  gpu.name = "NVIDIA H200 SXM";
  gpu.bandwidth = 4.0e12;
  gpu.data_sheet_bandwidth = 4.8e12;
  gpu.matmul_flops_per_sm = 6.0e12;
  return gpu;
}

constexpr GpuModel a100() {
  GpuModel gpu = kH100;
  gpu.name = "NVIDIA A100 SXM 80 GB";
  gpu.sms = 108;
  gpu.clock = 1.41e9;
  gpu.bandwidth = 1.73e12;
  gpu.data_sheet_flops = 312e12;
  gpu.data_sheet_bandwidth = 2.039e12;
  gpu.matmul_flops_per_sm = 2.16e12;
  return gpu;
}

constexpr GpuModel kH200 = h200(), kA100 = a100();
constexpr double kBandwidthOfA100With40Gb = 1.555e12;  // of its data sheet

}  // namespace

const GpuModel& gpu_model(GpuKind kind) {
  assert(kind != GpuKind::none);
  return kind == GpuKind::h200 ? kH200 : kind == GpuKind::a100 ? kA100 : kH100;
}

GpuKind gpu_kind_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return has("H200") ? GpuKind::h200 : has("H100") ? GpuKind::h100 : has("A100") ? GpuKind::a100 : GpuKind::none;
}

double data_sheet_bandwidth(std::string_view name) {
  const GpuKind kind = gpu_kind_of(name);
  if (kind == GpuKind::none) return 0;
  const bool is_small = kind == GpuKind::a100 && name.find("40GB") != std::string_view::npos;
  return is_small ? kBandwidthOfA100With40Gb : gpu_model(kind).data_sheet_bandwidth;
}

}  // namespace weft
