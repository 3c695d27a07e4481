// trainer/step/data_sheets.h: lists the peak rates of GPUs from NVIDIA's data sheets (SXM boards).
#pragma once

#include <string_view>

namespace weft {

struct DataSheet {       // 0 = unknown
  double flops = 0;      // FLOP/s of dense matrix products in bf16 or f16
  double bandwidth = 0;  // bytes per second of the memory
};

// Looks up a GPU by the name that CUDA reports.
constexpr DataSheet data_sheet_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("H200")) return {.flops = 989e12, .bandwidth = 4.8e12};
  if (has("H100")) return {.flops = 989e12, .bandwidth = 3.35e12};
  if (has("A100")) return {.flops = 312e12, .bandwidth = has("40GB") ? 1.555e12 : 2.039e12};
  return {};
}

}  // namespace weft
