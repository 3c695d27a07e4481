// tensor/op_trace.h: what ran when, for measuring: each op that a Context was asked for, with its begin and end.
//
//   OpTrace trace;
//   ctx.set_trace(&trace);   // from here on each op adds a call; nullptr ends it
//
// Without a trace an op pays two comparisons; with one it is waited for, which takes a GPU's pace off a step. Others
// that a step waits for, such as collectives, may add theirs (parallel/traced_communicator.h). Calls never overlap, so
// their times add up: an op that ends in others ends where the first of them begins.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace weft {

inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Context;

// What the mathematics of a call needs, whatever the device does: what its rate is counted by (tensor/op_cost.h).
struct OpCost {
  // Read and written: each operand once, one that is added to twice, of a table as many rows as are asked for.
  double bytes = 0;
  double flops = 0;  // of matrix products and attention (model/flops.h); 0 for ops that memory bounds
  bool operator==(const OpCost&) const = default;
};

struct OpTrace {
  struct Call {
    const char* name;  // of static storage
    double begin, end;
    double seconds() const { return end - begin; }
  };
  std::vector<Call> calls;  // in the order they ran

  struct Op {
    const char* name;
    OpCost cost;
    std::function<void(Context&)> again;  // with the same arguments, whatever lies there then
  };
  bool keeps_ops = false;
  std::vector<Op> ops;  // if keeps_ops: those that were asked for from outside, not those that they end in
};

class TracedCall {  // from construction to the end of the scope
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
  size_t first_;  // of the calls within this one
  double begin_;
};

}  // namespace weft
