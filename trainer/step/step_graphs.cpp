// trainer/step/step_graphs.cpp: checks whether a run can use CUDA graphs.
#include "trainer/step/step_graphs.h"

#include "parallel/device_mesh.h"
#include "tensor/error.h"

namespace weft {

CudaGraph choose_graphs(const RunConfig& config, const RankDevice& own) {
  const CudaGraph wanted = config.train.cuda_graph;
  if (wanted == CudaGraph::off) return wanted;
  const bool on_gpu = own.device == Device::cuda, alone = config.parallel.dp * config.parallel.tp == 1;
  const bool can_record = on_gpu && (alone || !stages_through_host(own, config.parallel.communication));
  if (wanted == CudaGraph::automatic) return can_record ? CudaGraph::on : CudaGraph::off;
  require(on_gpu, ErrorKind::usage, "train.cuda_graph needs a GPU, but this run uses CPUs: leave the option out");
  require(can_record, ErrorKind::usage,
          "train.cuda_graph needs NCCL and one GPU per rank, but this run's all-reduces go through host memory, "
          "which a graph cannot record: leave the option out");
  return wanted;
}

StepGraphs::StepGraphs(const RunConfig& config, const Mesh& mesh)
    : enabled_(choose_graphs(config, mesh.own()) == CudaGraph::on) {}

}  // namespace weft
