// trainer/step/step_flops.h: counts floating-point operations of training, and the peak of this machine.
#pragma once

#include <vector>

#include "data/batch.h"
#include "model/config.h"
#include "parallel/placement/rank_device.h"
#include "tensor/cpu/peak.h"

namespace weft {

// Returns the model FLOPs of training on these blocks, from their real sentence lengths (model/flops.h).
double training_flops(const ModelConfig& model, const std::vector<Block>& blocks);

// best_peak() returns the best of several instructions' rates for operands of this dtype, 0 if there is none.
// product_peak() returns the rate of its matrix products, which are computed in f32 if there is none.
double best_peak(const std::vector<PeakRate>& rates, DType dtype);
double product_peak(const std::vector<PeakRate>& rates, DType dtype);

// Returns the peak FLOP/s of all ranks' processors, the denominator of model FLOP utilization (Chowdhery et al. 2022,
// PaLM, section 4.1). A CPU's multiply-adds are measured for some milliseconds on all ranks at once. A GPU's dense
// matrix products in 16 bits come from its data sheet. Returns 0 if a rank's peak is unknown.
double peak_flops(const RankDevice& own, DType storage, Communicator& world);

}  // namespace weft
