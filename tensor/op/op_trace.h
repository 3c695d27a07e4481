// tensor/op/op_trace.h: a trace for measuring: each op called on a Context, with its start and end.
//
//   OpTrace trace;
//   ctx.set_trace(&trace);   // from here on each op adds a call; nullptr ends it
// Without a trace an op pays two comparisons. With one it waits for each op, so a step on a GPU runs slower than
// untraced. Other code that a step waits for, such as collectives, may add its calls (parallel/traced_communicator.h).
// Calls never overlap, so their times add up: an op that ends by calling other ops is counted until the first of these
// starts.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tensor/clock.h"
#include "tensor/tensor.h"

namespace weft {

class Context;

// What a call needs mathematically, on any device; rates are computed from it (tensor/op/op_cost.h).
struct OpCost {
  // Bytes read and written: each operand once, one that is added to twice, and a table only for the rows used.
  double bytes = 0;
  double flops = 0;  // for GEMMs and attention (model/flops.h); 0 for memory-bound ops
  bool operator==(const OpCost&) const = default;
};

struct OpTrace {
  struct Call {
    const char* name;  // static storage
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
    std::function<void(Context&)> again;  // repeats the call with the same arguments, on the current values
  };
  bool keeps_ops = false;
  std::vector<Op> ops;  // if keeps_ops: top-level ops only, not the ops that they call
};

class TracedCall {  // lasts from construction to the end of the scope
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
  size_t first_;  // first call within this one
  double begin_;
};

}  // namespace weft
