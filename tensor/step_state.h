// tensor/step_state.h: what changes from step to step, in a GPU's memory, so that a step captured once as a graph can
// be replayed: ops that hold a pointer to it read it when they run, not when they are enqueued.
#pragma once

#include <cstdint>

namespace weft {

struct StepState {
  uint32_t step = 0;     // keys of counted randomness
  int64_t block = 0;     // the block's index in its step
  float loss_scale = 1;  // what gradients of the loss are multiplied with
  float lr = 0;          // Adam's: learning rate, clipping, and 1 - beta^steps of both moments
  float grad_scale = 1;
  float correction1 = 1, sqrt_correction2 = 1;
};

}  // namespace weft
