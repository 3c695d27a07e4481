// tensor/cpu/peak.h: measures the peak multiply-add rate of this machine's cores, to compare GEMM rates with it.
//
// Each instruction runs in a loop on registers only, on all threads at once. All instructions that the processor has
// and the system allows are tried, even if the kernels were compiled without them.
#pragma once

#include <vector>

#include "tensor/dtype.h"

namespace weft {

struct PeakRate {
  const char* instruction;  // "AVX-512 FMA"
  DType dtype;              // operand type: f32 or bf16
  double flops_per_second;  // of num_threads() threads together, best of many tries; a multiply-add counts 2
};

// Returns one rate per instruction, f32 first. Measures for `seconds` in total, but each instruction at least once.
std::vector<PeakRate> measure_peaks(double seconds);

}  // namespace weft
