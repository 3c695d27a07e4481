// trainer/step/step_graphs.h: replays each block of a step, and the optimizer's update, as CUDA graphs
// (train.cuda_graph). The first block may also gather weights over dp, and the last block sums gradients over dp.
//
// Between these graphs, the host checks whether the gradients are finite on all ranks, and decides how to clip them.
// Graphs read values that change from step to step from StepScalars (tensor/op/step_scalars.h).
//
// NCCL requires that all ranks record a collective or none, and that all ranks replay it or none. So the ranks decide
// per step, whatever number of blocks they have: the first step is launched directly, the second is also recorded, and
// later ones are replayed unless any rank's GPU has refused to record. Steps with other collectives, as after a
// validation that has gathered the weights, are launched directly.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "parallel/mesh.h"
#include "tensor/recorded_work.h"
#include "tensor/refused_recording.h"
#include "trainer/config/run_config.h"

namespace weft {

// Resolves train.cuda_graph in the same way on every rank. CUDA graphs cannot be used on CPUs, or if all-reduces go
// through host memory. In these cases `automatic` becomes `off`, and `on` throws an Error of kind usage. Otherwise
// `automatic` remains: the GPU may still refuse to record. REQUIRES: the grid of `config` is resolved.
CudaGraph choose_graphs(const RunConfig& config, const RankDevice& own);

class StepGraphs {
 public:
  explicit StepGraphs(CudaGraph choice) : choice_(choice) {}  // of choose_graphs()

  bool enabled() const { return choice_ != CudaGraph::off; }
  bool recorded() const {
    return std::ranges::any_of(blocks_, [](const auto& b) { return b.recorded(); });
  }

  void begin_step(bool is_usual);  // is_usual: true if the step has the collectives that most steps have

  // REQUIRES: in each step that is_usual, the blocks of a rank have the same values of `gathers` and `last`.
  template <typename Work>
  void block(Context& ctx, bool gathers, bool last, const Work& work) {
    run(ctx, blocks_[(gathers ? 2 : 0) + (last ? 1 : 0)], blocks_mode_, work);
  }
  template <typename Work>
  void update(Context& ctx, const Work& work) {
    run(ctx, update_, mode_of(num_updates_++), work);
  }

  // If `automatic`, the reason why this rank's GPU refuses to record, or empty; `on` throws an Error of kind usage.
  const std::string& refusal() const { return refusal_; }
  void disable();  // all ranks call it if one has a refusal()

 private:
  enum class Mode : uint8_t { direct, record, replay };
  Mode mode_of(int64_t num_before) const;

  template <typename Work>
  void run(Context& ctx, RecordedWork& recorded, Mode mode, const Work& work) {
    if (mode == Mode::replay) return recorded.run(ctx, work);
    if (mode == Mode::direct) return work();
    try {
      recorded.record(ctx, work);
    } catch (const RefusedRecording& e) {
      refuse(e.what());
      work();
    }
  }
  void refuse(const std::string& reason);

  CudaGraph choice_;
  Mode blocks_mode_ = Mode::direct;
  int64_t num_steps_ = 0, num_updates_ = 0;  // num_steps_: usual ones
  std::array<RecordedWork, 4> blocks_;
  RecordedWork update_;
  std::string refusal_;
};

}  // namespace weft
