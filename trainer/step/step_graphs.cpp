// trainer/step/step_graphs.cpp: decides when a run uses CUDA graphs.
#include "trainer/step/step_graphs.h"

#include "parallel/device_mesh.h"
#include "tensor/error.h"

namespace weft {

CudaGraph choose_graphs(const RunConfig& config, const RankDevice& own) {
  const CudaGraph wanted = config.train.cuda_graph;
  if (wanted == CudaGraph::off) return wanted;
  const bool on_gpu = own.device == Device::cuda, alone = config.parallel.dp * config.parallel.tp == 1;
  const bool can_record = on_gpu && (alone || !stages_through_host(own, config.parallel.communication));
  if (wanted == CudaGraph::automatic) return can_record ? wanted : CudaGraph::off;
  require(on_gpu, ErrorKind::usage, "train.cuda_graph needs a GPU, but this run uses CPUs: leave the option out");
  require(can_record, ErrorKind::usage,
          "train.cuda_graph needs NCCL and one GPU per rank, but this run's all-reduces go through host memory, "
          "which a graph cannot record: leave the option out");
  return wanted;
}

void StepGraphs::begin_step(bool is_usual) { blocks_mode_ = is_usual ? mode_of(num_steps_++) : Mode::direct; }

StepGraphs::Mode StepGraphs::mode_of(int64_t num_before) const {
  if (!enabled() || num_before == 0) return Mode::direct;
  return num_before == 1 ? Mode::record : Mode::replay;
}

void StepGraphs::refuse(const std::string& reason) {
  if (choice_ == CudaGraph::on)
    fail(ErrorKind::usage,
         fmt::format("this GPU cannot record a CUDA graph ({}): set train.cuda_graph=auto or false", reason));
  if (refusal_.empty()) refusal_ = reason;
}

void StepGraphs::disable() {
  choice_ = CudaGraph::off;
  blocks_mode_ = Mode::direct;
  for (RecordedWork& block : blocks_) block.forget();
  update_.forget();
}

}  // namespace weft
