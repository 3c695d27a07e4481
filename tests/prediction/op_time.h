// tests/prediction/op_time.h: the predicted time of an op on a GPU, from its shapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/op/op_trace.h"
#include "tests/prediction/gpu_model.h"

namespace weft {

struct KernelCost;

struct PredictedOp {  // all calls of one op, of matrix products those of one shape
  std::string part;   // as in step_times.h
  std::string name;
  int64_t calls = 0, launches = 0;
  double bytes = 0, flops = 0;
  double seconds = 0;
  double roofline = 0;  // seconds: its operations at the main loop's rate or its bytes at the memory's, without gaps
};

// Returns the number of elements that a kernel of the op processes; 0 if latency alone bounds it.
double elements_of(const OpTrace::Op& op, const KernelCost& cost);

// Returns the names by which kernel_costs() lists the kernels of the op: its own, or those of a product's passes.
std::vector<std::string_view> cost_names_of(const OpTrace::Op& op);

class OpTimes {
 public:
  OpTimes(const GpuModel& gpu, bool graph) : gpu_(gpu), graph_(graph) {}  // `gpu` outlives it

  PredictedOp time(const OpTrace::Op& op) const;  // of one call, with its kernels and what comes before each

 private:
  void add_gemm(const OpTrace::Op& op, PredictedOp& into) const;
  void add_kernels(const OpTrace::Op& op, std::string_view name, PredictedOp& into) const;
  void add_attention(const OpTrace::Op& op, PredictedOp& into) const;
  double kernel_seconds(const OpTrace::Op& op, const KernelCost& cost) const;

  const GpuModel& gpu_;
  bool graph_;
};

}  // namespace weft
