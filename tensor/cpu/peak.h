// tensor/cpu/peak.h: the peak multiply-add rate of this machine's cores, with which GEMM rates are compared.
//
// Each instruction runs in a loop on registers only, on all threads at once. Only instructions that the
// processor has and the system allows are tried, whatever the kernels were compiled for.
#pragma once

#include <vector>

#include "tensor/dtype.h"

namespace weft {

struct PeakRate {
  const char* instruction;  // "AVX-512 FMA"
  DType dtype;              // operand type: f32 or bf16
  double flops_per_second;  // a multiply-add counts 2; sum of num_threads() threads, best of many tries
};

// Returns one rate per instruction, f32 first. Measures for `seconds` in all, and each instruction at least once.
std::vector<PeakRate> measure_peaks(double seconds);

}  // namespace weft
