// trainer/step/step_flops.h: floating-point operations of training, and the most that this machine could do.
#pragma once

#include <vector>

#include "data/batch.h"
#include "model/config.h"
#include "parallel/placement/rank_device.h"
#include "tensor/cpu/peak.h"

namespace weft {

// Model FLOPs of training on these blocks, from their real sentence lengths (model/flops.h).
double training_flops(const ModelConfig& model, const std::vector<Block>& blocks);

// Of several instructions' rates, the best one for operands of this dtype, 0 if there is none; and that for matrix
// products of it, which are computed in f32 where there is none.
double best_peak(const std::vector<PeakRate>& rates, DType dtype);
double product_peak(const std::vector<PeakRate>& rates, DType dtype);

// Operations a second of all ranks' processors at most, the yardstick of model FLOP utilisation (Chowdhery et al. 2022,
// PaLM, section 4.1): a CPU's multiply-adds are measured for some milliseconds on all ranks at once; a GPU's dense
// matrix products in 16 bits are those of its data sheet. 0 if a rank's is not known.
double peak_flops(const RankDevice& own, DType storage, Communicator& world);

}  // namespace weft
