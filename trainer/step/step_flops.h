// trainer/step/step_flops.h: counts the FLOPs of training, and finds the peak FLOP/s of the processors.
#pragma once

#include <vector>

#include "data/batch.h"
#include "model/config.h"
#include "parallel/placement/rank_device.h"
#include "tensor/cpu/peak.h"

namespace weft {

// Returns the model FLOPs of training on these blocks, from the sentence lengths without padding (model/flops.h).
// `trained_share` is ParamStore::trained_share(): frozen weights need no gradients.
double training_flops(const ModelConfig& model, const std::vector<Block>& blocks, double trained_share = 1);

// best_peak() returns the highest rate of any instruction for operands of this dtype; 0 if there is none.
// product_peak() returns the rate of matrix products of this dtype, which use f32 if no instruction supports the dtype.
double best_peak(const std::vector<PeakRate>& rates, DType dtype);
double product_peak(const std::vector<PeakRate>& rates, DType dtype);

// Returns the peak FLOP/s of all ranks' processors, the denominator of model FLOP utilization (Chowdhery et al. 2022,
// PaLM, section 4.1). The peak of a CPU is measured with multiply-adds for some milliseconds, on all ranks at the same
// time. The peak of a GPU, for dense 16-bit matrix products, comes from its data sheet. Returns 0 if a peak is unknown.
double peak_flops(const RankDevice& own, DType storage, Communicator& world);

}  // namespace weft
