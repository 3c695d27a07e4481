// trainer/optimizer/optimizer.h: Adam over the flat parameters, and the norm of their gradient.
#pragma once

#include <cstdint>

#include "model/parameters/param_store.h"

namespace weft {

struct OptimizerConfig {
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9, weight_decay = 0, clip_norm = 0;

  template <typename V>
  void fields(V& v) {
    v("beta1", beta1, "Adam: decay of the first moment");
    v("beta2", beta2, "Adam: decay of the second moment");
    v("eps", eps, "Adam: added to the root of the second moment");
    v("weight_decay", weight_decay,
      "decoupled decay of matrices, times the learning rate; biases and norms never decay");
    v("clip_norm", clip_norm, "scale gradients down to this global norm; 0 = never");
  }
};

// Factor that clips a gradient of this norm to clip_norm: min(1, clip_norm / (norm + 1e-6)), as in PyTorch's
// clip_grad_norm_; 1 if clip_norm is 0.
double clip_scale(double norm, double clip_norm);

class Optimizer {
 public:
  Optimizer(const ParamStore& params, const OptimizerConfig& config);

  // Adds the sums of squared gradients, separately for parameters split over tp and for whole ones.
  void add_squares(Context& ctx, const Tensor& split, const Tensor& whole) const;

  // Counts a step and sets Adam's step scalars. grad_scale multiplies the gradients: clipping factor / loss
  // scale.
  void next_step(StepScalars& scalars, double lr, double grad_scale);
  // Updates values, moments and all copies of the values; `scalars` are those of next_step(), on the device.
  void update(Context& ctx, const StepScalars* scalars) const;

  int64_t steps() const { return steps_; }
  void set_steps(int64_t n) { steps_ = n; }
  Tensor first_moment() const { return m_.tensor({params_.numel()}); }
  Tensor second_moment() const { return v_.tensor({params_.numel()}); }

 private:
  const ParamStore& params_;
  OptimizerConfig config_;
  std::vector<ParamRange> by_decay_, by_split_;
  Buffer m_, v_;
  int64_t steps_ = 0;  // Adam's own count, without skipped steps
};

}  // namespace weft
