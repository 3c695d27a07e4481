// trainer/step/step_graphs.h: replays parts of a step as CUDA graphs (train.cuda_graph): a block (the first one of a
// step may gather weights over dp, the last one sums gradients), and the optimizer's update.
//
// Between graphs the host decides whether the gradients are finite on all ranks and how they are clipped. Values that
// change from step to step are read from StepScalars (tensor/op/step_scalars.h).
#pragma once

#include <algorithm>
#include <array>

#include "parallel/mesh.h"
#include "tensor/recorded_work.h"
#include "trainer/config/run_config.h"

namespace weft {

// Resolves `automatic` of train.cuda_graph, in the same way on every rank. Nothing can be recorded on CPUs, or if
// all-reduces go through host memory. Then `automatic` becomes `off`, and `on` throws an Error of kind usage. REQUIRES:
// the grid of `config` is resolved.
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
