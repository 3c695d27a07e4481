// tensor/cpu/peak.h: the most multiply-adds that this machine's cores can do: what rates of products are a share of.
//
// Each instruction runs in a loop that touches registers alone, on all threads at once. Only instructions that the
// processor has and the system allows are tried, whatever the kernels were compiled for.
#pragma once

#include <vector>

#include "tensor/dtype.h"

namespace weft {

struct PeakRate {
  const char* instruction;  // "AVX-512 FMA"
  DType dtype;              // of its operands: f32 or bf16
  double flops_per_second;  // a multiply-add is 2; of num_threads() threads together, the best of many tries
};

// One rate an instruction, f32 first. Tries for so many seconds in all, each instruction once in any case.
std::vector<PeakRate> measure_peaks(double seconds);

}  // namespace weft
