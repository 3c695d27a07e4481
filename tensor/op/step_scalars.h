// tensor/op/step_scalars.h: defines the numbers that change from step to step. They are stored where ops run: in host
// memory for CPUs, and in device memory for GPUs (device_scalars.h). Ops read the numbers through a pointer when they
// run, not when they are enqueued, so a step recorded as a CUDA graph can be replayed with other numbers.
#pragma once

#include <cstdint>

namespace weft {

struct StepScalars {
  uint32_t step = 0;     // number of finished steps; a key of the random numbers
  int64_t block = 0;     // the block's index in its step; a key of the random numbers
  float loss_scale = 1;  // multiplies the gradients of the loss
  // The learning rate, the factor that multiplies the gradients, and Adam's 1 - beta1^t and sqrt(1 - beta2^t) in step t
  float lr = 0, grad_scale = 1, correction1 = 1, sqrt_correction2 = 1;
  float mean_weight = 1;   // ScheduleFree: weight of this step's z in the mean x
  float average_rate = 0;  // 1 - decay, for the average of the weights (trainer/optimizer/weight_average.h)
};

}  // namespace weft
