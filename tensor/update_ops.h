// tensor/update_ops.h: the ops of optimizers other than Adam; the rules of ops.h hold for them.
#pragma once

#include "tensor/step_scalars.h"
#include "tensor/tensor.h"

namespace weft::ops {

// Schedule-free AdamW (Defazio et al. 2024, "The Road Less Scheduled"). Gradients are taken at y, the parameters; z is
// the sequence of AdamW's steps, and x, the weighted mean of all z, the model that is evaluated:
// y = (1 - beta1) z + beta1 x. With the mean's new weight c: d = g / (sqrt(v^) + eps) + weight_decay y;
// z -= lr d, x = (1 - c) x + c z. All [n] f32.
struct ScheduleFree {
  Tensor param, grad, z, v;  // param: y
  Tensor copy;               // [n]? bf16 or f16 out: the new parameters, rounded
  float beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f, weight_decay = 0;
  const StepScalars* scalars = nullptr;  // lr, grad_scale, sqrt_correction2 and mean_weight
};

// y = alpha x / max(norm, eps) + beta y, of equal shapes; column slices allowed. If beta is 0, y is not read.
struct ScaleAdd {
  Tensor x, y;  // [R, C] each f32, bf16 or f16
  float alpha = 1, beta = 0;
  Tensor norm_square;  // [1]? f64: the square of `norm`; without it there is no division
  float eps = 0;
};

// Muon (Jordan et al. 2024), before and after what is done with whole matrices. All [n] f32. With g the scaled
// gradient: m = momentum m + (1 - momentum) g, and Nesterov's update u = momentum m + (1 - momentum) g, of the new m.
struct MuonMomentum {
  Tensor grad;  // in: the gradient, out: u
  Tensor m;
  float momentum = 0.95f;
  const StepScalars* scalars = nullptr;  // grad_scale
};
// param -= lr (update + weight_decay param).
struct MuonUpdate {
  Tensor param, update;
  Tensor copy;     // [n]? bf16 or f16 out: the new parameters, rounded
  Tensor average;  // [n]? as Adam's
  float weight_decay = 0;
  const StepScalars* scalars = nullptr;  // lr, average_rate
};

}  // namespace weft::ops
