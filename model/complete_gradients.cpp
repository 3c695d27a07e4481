// model/complete_gradients.cpp: sums over tp of gradients that are sums over rows.
#include "model/complete_gradients.h"

namespace weft {

void CompleteGradients::from(int64_t first) {
  if (sync_ == nullptr) return;
  if (p_.splits_rows()) sum_over_tp(first, begin_);
  begin_ = first;
  sync_->ready(first);
}

// Norms and biases that follow each other are one tensor of the flat buffer; the alignment between them is 0.
void CompleteGradients::sum_over_tp(int64_t first, int64_t end) const {
  int64_t run_begin = 0, run_end = 0;  // parameters of this kind, one after the other
  const auto sum_run = [&] {
    if (run_end > run_begin) p_.tp.all_reduce(p_.ctx, params_.grads().slice_rows(run_begin, run_end - run_begin));
  };
  for (const Param& param : params_.params()) {
    if (param.offset < first || param.offset >= end) continue;
    if (!param.spec.sums_rows) {
      sum_run();
      run_begin = run_end = 0;
      continue;
    }
    if (run_end == 0) run_begin = param.offset;
    run_end = param.offset + param.numel();
  }
  sum_run();
}

}  // namespace weft
