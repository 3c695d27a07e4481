// trainer/prediction/comparison.h: the measured times of a GPU beside the predicted ones: one run on a real GPU
// confirms or refutes each line of the prediction.
#pragma once

#include <string>
#include <vector>

#include "trainer/bench/bench.h"
#include "trainer/prediction/prediction.h"

namespace weft {

struct ComparedOp {  // all its calls in a step of one block, launched by themselves
  std::string name;  // of a PredictedOp
  int64_t calls = 0;
  double measured = 0, predicted = 0;  // seconds
};

struct Comparison {
  std::vector<ComparedOp> ops;                   // the greatest difference first
  double measured_step = 0, predicted_step = 0;  // seconds of the whole step, as it trains
};

// The GPU whose prediction the report can be compared with. None for a CPU or an unknown GPU, f32, several ranks.
GpuKind predicted_gpu(const BenchReport& report);
Comparison compare_with_prediction(GpuKind gpu, const BenchReport& report);

}  // namespace weft
