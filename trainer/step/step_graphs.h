// trainer/step/step_graphs.h: replays each block of a step, and the optimizer's update, as CUDA graphs
// (train.cuda_graph). The first block may also gather weights over dp, and the last block sums gradients over dp.
//
// Between these graphs, the host checks whether the gradients are finite on all ranks, and decides how to clip them.
// Graphs read values that change from step to step from StepScalars (tensor/op/step_scalars.h).
#pragma once

#include <algorithm>
#include <array>

#include "parallel/mesh.h"
#include "tensor/recorded_work.h"
#include "trainer/config/run_config.h"

namespace weft {

// Resolves train.cuda_graph in the same way on every rank. CUDA graphs cannot be used on CPUs, or if all-reduces go
// through host memory. In these cases `automatic` becomes `off`, and `on` throws an Error of kind usage. REQUIRES: the
// grid of `config` is resolved.
CudaGraph choose_graphs(const RunConfig& config, const RankDevice& own);

class StepGraphs {
 public:
  StepGraphs(const RunConfig& config, const Mesh& mesh);

  bool enabled() const { return enabled_; }
  bool recorded() const {
    return std::ranges::any_of(blocks_, [](const auto& b) { return b.recorded(); });
  }

  template <typename Work>
  void block(Context& ctx, bool gathers, bool last, const Work& work) {
    run(ctx, blocks_[(gathers ? 2 : 0) + (last ? 1 : 0)], work);
  }
  template <typename Work>
  void update(Context& ctx, const Work& work) {
    run(ctx, update_, work);
  }

 private:
  template <typename Work>
  void run(Context& ctx, RecordedWork& recorded, const Work& work) {
    if (!enabled_) return work();
    recorded.run(ctx, work);
  }

  bool enabled_;
  std::array<RecordedWork, 4> blocks_;
  RecordedWork update_;
};

}  // namespace weft
