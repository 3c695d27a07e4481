// tensor/ops.cpp: implements the part of every op that all backends share. Each op checks its arguments, records its
// call if there is a trace, and calls the backend.
#include "tensor/ops.h"

#include "tensor/backend.h"
#include "tensor/op/op_checks.h"
#include "tensor/op/op_cost.h"
#include "tensor/op/op_trace.h"

namespace weft::ops {

int64_t packed_numel(Device device, DType storage, int64_t k, int64_t n) {
  return backend(device).packed_numel(storage, k, n);
}

int64_t inference_numel(Device device, DType storage, int64_t k, int64_t n) {
  return backend(device).inference_numel(storage, k, n);
}

int64_t saved_numel(Device device, Activation activation, DType storage, int64_t rows, int64_t cols) {
  return backend(device).saved_numel(activation, storage, rows, cols);
}

namespace {

// Records the op if the trace keeps ops, but does not record the ops that this op calls.
template <typename Arguments>
class OpRecord {
 public:
  OpRecord(Context& ctx, const char* name, const Arguments& a, void (*op)(Context&, const Arguments&)) {
    OpTrace* const trace = ctx.trace();
    if (trace == nullptr || !trace->keeps_ops) return;
    trace->ops.push_back({name, cost_of(ctx, a), operands_of(a), [a, op](Context& context) { op(context, a); }});
    trace->keeps_ops = false;
    trace_ = trace;
  }
  ~OpRecord() {
    if (trace_ != nullptr) trace_->keeps_ops = true;
  }
  OpRecord(const OpRecord&) = delete;
  OpRecord& operator=(const OpRecord&) = delete;

 private:
  OpTrace* trace_ = nullptr;
};

}  // namespace

#define WEFT_DEFINE_OP(function, Arguments, ...)                           \
  void function(Context& ctx, const Arguments& a) {                        \
    const TracedCall call(ctx.trace(), #function);                         \
    check(ctx, #function, a);                                              \
    const OpRecord kept(ctx, #function, a, function);                      \
    const Backend& device = backend(ctx.device());                         \
    (ctx.dry_run() ? device.measure_##function : device.function)(ctx, a); \
    if (ctx.trace()) ctx.synchronize();                                    \
  }
WEFT_OPS(WEFT_DEFINE_OP)

}  // namespace weft::ops
