// trainer/step/step_flops.cpp: counts FLOPs, measures the peak of CPUs, and looks up the peak of GPUs.
#include "trainer/step/step_flops.h"

#include <algorithm>

#include "model/flops.h"
#include "tensor/backend.h"
#include "trainer/step/data_sheets.h"

namespace weft {
namespace {

constexpr double kSecondsToMeasure = 0.02;

double own_peak(const RankDevice& own, DType storage) {
  if (own.device == Device::cpu) return product_peak(measure_peaks(kSecondsToMeasure), storage);
  return storage == DType::f32 ? 0 : data_sheet_of(device_properties(own.device).name).flops;
}

}  // namespace

double training_flops(const ModelConfig& model, const std::vector<Block>& blocks, double trained_share) {
  double flops = 0;
  for (const Block& block : blocks)
    for (size_t i = 0; i + 1 < block.source_offsets.size(); ++i) {
      const double source = block.source_offsets[i + 1] - block.source_offsets[i];
      const double target = block.target_offsets[i + 1] - block.target_offsets[i];
      const TokenFlops token = forward_flops(model, source, target);
      flops += token.source * source + token.target * target;
    }
  return flops * (kTrainingPasses - 1 + trained_share);
}

double best_peak(const std::vector<PeakRate>& rates, DType dtype) {
  double best = 0;
  for (const PeakRate& rate : rates)
    if (rate.dtype == dtype) best = std::max(best, rate.flops_per_second);
  return best;
}

double product_peak(const std::vector<PeakRate>& rates, DType dtype) {
  const double best = best_peak(rates, dtype);
  return best > 0 ? best : best_peak(rates, DType::f32);
}

double peak_flops(const RankDevice& own, DType storage, Communicator& world) {
  world.barrier();  // so that all ranks measure at the same time, as they may share cores
  const double mine = own_peak(own, storage);
  return world.max(mine > 0 ? 0 : 1) > 0 ? 0 : world.sum(mine);
}

}  // namespace weft
