// tests/support/test_adam.h: Adam on a store's parameters, without a Trainer.
#pragma once

#include "model/parameters/param_store.h"
#include "tensor/device_scalars.h"
#include "tensor/op/op_formulas.h"

namespace weft::testing {

class TestAdam {
 public:
  explicit TestAdam(const ParamStore& params)
      : params_(params),
        m_(params.values().bytes(), params.device()),
        v_(params.values().bytes(), params.device()),
        scalars_(params.device()) {}
  void step(Context& ctx, float lr) {
    StepScalars s{.lr = lr};
    const Tensor all = params_.values();
    ops::Adam adam{.param = all,
                   .grad = params_.grads(),
                   .m = m_.tensor(all.shape),
                   .v = v_.tensor(all.shape),
                   .scalars = scalars_.get()};
    set_adam_corrections(s, adam.beta1, adam.beta2, ++steps_);
    scalars_.set(ctx, s);
    ops::adam(ctx, adam);
  }

 private:
  const ParamStore& params_;
  Buffer m_, v_;
  DeviceScalars scalars_;
  int64_t steps_ = 0;
};

}  // namespace weft::testing
