// model/complete_gradients.h: tells a GradSync which gradients the backward pass has completed.
//
// Where tp ranks split rows (Pass::sequence), gradients that are sums over rows (ParamSpec::sums_rows) are only parts
// until then: they are first summed over tp, once in a step. They are small, and neighbours are summed together.
#pragma once

#include "model/parameters/param_store.h"
#include "model/pass.h"
#include "parallel/grad_sync.h"

namespace weft {

class CompleteGradients {  // of one backward pass
 public:
  // `sync` may be nullptr: a later block adds to the gradients, or nobody reads them.
  CompleteGradients(Pass& p, const ParamStore& params, GradSync* sync)
      : p_(p), params_(params), sync_(sync), begin_(params.numel()) {}
  void from(int64_t first);  // all gradients at flat offset >= first have been added; offsets only fall

 private:
  void sum_over_tp(int64_t first, int64_t end) const;

  Pass& p_;
  const ParamStore& params_;
  GradSync* sync_;
  int64_t begin_;  // of those that are complete
};

}  // namespace weft
