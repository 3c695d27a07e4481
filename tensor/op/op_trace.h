// tensor/op/op_trace.h: records each op called on a Context, with its start and end, for measurements.
//
//   OpTrace trace;
//   ctx.set_trace(&trace);   // from here on each op adds a call; set_trace(nullptr) ends the trace
// Without a trace, an op only makes two comparisons. With a trace, the host waits for each op, which slows down steps
// on a GPU. Other code that a step waits for, such as collectives, may add its own calls
// (parallel/traced_communicator.h). Calls never overlap, so their times can be added: if an op calls other ops at its
// end, its time ends when the first of them starts.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tensor/clock.h"
#include "tensor/tensor.h"

namespace weft {

class Context;

// The work of a call, which is the same on all devices. Rates are computed from this work (tensor/op/op_cost.h).
struct OpCost {
  // Bytes read and written. Each operand counts once, but twice if the op adds to it. Of a table, only used rows count.
  double bytes = 0;
  double flops = 0;  // for GEMMs and attention (model/flops.h); 0 for memory-bound ops
  bool operator==(const OpCost&) const = default;
};

struct OpTrace {
  struct Call {
    const char* name;  // has static storage duration
    double begin, end;
    double seconds() const { return end - begin; }
  };
  std::vector<Call> calls;  // in execution order

  struct Operand {
    const char* name;  // as in op_operands.h; sentence ranges have two: "q_rows begin", "q_rows end"
    Tensor tensor;     // with null data in a dry run
    bool added;        // true if the op adds to it
  };
  struct Op {
    const char* name;
    OpCost cost;
    std::vector<Operand> operands;        // the operands that are given
    std::function<void(Context&)> again;  // repeats the call with the same tensors and their current values
  };
  bool keeps_ops = false;
  std::vector<Op> ops;  // if keeps_ops: top-level ops only, not the ops that they call
};

class TracedCall {  // adds a call that lasts from construction to the end of the scope
 public:
  TracedCall(OpTrace* trace, const char* name)
      : trace_(trace), name_(name), first_(trace ? trace->calls.size() : 0), begin_(trace ? monotonic_seconds() : 0) {}
  ~TracedCall() {
    if (!trace_) return;
    const auto within = trace_->calls.begin() + static_cast<std::ptrdiff_t>(first_);
    const double end = within == trace_->calls.end() ? monotonic_seconds() : within->begin;
    trace_->calls.insert(within, {name_, begin_, end});
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

 private:
  OpTrace* trace_;
  const char* name_;
  size_t first_;  // index of the first call within this call
  double begin_;
};

}  // namespace weft
