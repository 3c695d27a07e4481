// trainer/optimizer.h: Adam over the flat parameters; the gradient norm that every rank agrees on.
#pragma once

#include <cstdint>

#include "model/parameters/param_store.h"
#include "parallel/mesh.h"
#include "tensor/device_sums.h"

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

struct GradNorm {
  double value = 0;
  bool finite = true;
  double clip_scale(
      double clip_norm) const;  // min(1, clip_norm / (norm + 1e-6)), as PyTorch has it; 1 if clip_norm is 0
};

class Optimizer {
 public:
  Optimizer(const ParamStore& params, const OptimizerConfig& config, Device device);

  // Of the gradients / loss_scale; split parameters summed over tp, whole ones counted once.
  GradNorm grad_norm(Context& ctx, const Mesh& mesh, double loss_scale = 1) const;

  // One step: its factors, which count it (grad_scale: clipping / loss_scale), then the update itself. `state`, in a
  // GPU's memory, stands for those of the factors that it holds.
  ops::Adam next_step(double lr, double grad_scale);
  void update(Context& ctx, const ops::Adam& factors, const StepState* state = nullptr) const;
  void step(Context& ctx, double lr, double grad_scale) { update(ctx, next_step(lr, grad_scale)); }

  int64_t steps() const { return steps_; }
  void set_steps(int64_t n) { steps_ = n; }
  Tensor first_moment() const { return m_.tensor({params_.numel()}); }
  Tensor second_moment() const { return v_.tensor({params_.numel()}); }

 private:
  // Parameters side by side that are treated alike: on a GPU one launch; on a CPU each is for itself, so that
  // it is packed while it is in the cache.
  struct Range {
    int64_t begin = 0, end = 0;              // elements of the flat buffers
    size_t first_param = 0, last_param = 0;  // one past
    bool holds = false;                      // the property that they have in common, or lack
  };
  template <typename Property>
  std::vector<Range> ranges(const Property& property) const;

  const ParamStore& params_;
  OptimizerConfig config_;
  std::vector<Range> by_decay_, by_split_;
  Buffer m_, v_;
  DeviceSums squares_;  // of gradients
  int64_t steps_ = 0;   // Adam's own count: skipped steps are not in it
};

}  // namespace weft
