// tests/support/test_adam.h: Adam on a store's parameters, without a Trainer.
#pragma once

#include "model/parameters/param_store.h"
#include "tensor/device_scalars.h"
#include "tensor/op/update_rules.h"

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
    ops::Update adam{.param = all,
                     .grad = params_.grads(),
                     .first = m_.tensor(all.shape),
                     .second = v_.tensor(all.shape),
                     .scalars = scalars_.get()};
    set_adam_corrections(s, adam.beta1, adam.beta2, ++steps_);
    scalars_.set(ctx, s);
    ops::update(ctx, adam);
  }

 private:
  const ParamStore& params_;
  Buffer m_, v_;
  DeviceScalars scalars_;
  int64_t steps_ = 0;
};

}  // namespace weft::testing
