// tensor/cuda/runtime/graph.cpp: records the work of a Context's stream as a CUDA graph.
//
// Work on other streams is included if it waits for an event of this stream and this stream later waits for it, as with
// NCCL. During the recording, other threads, such as a watchdog, may call CUDA.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/refused_recording.h"

namespace weft::cuda {
namespace {

void require_recording(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  const std::string reason = fmt::format("{}: {}", call, cudaGetErrorString(status));
  (void)cudaGetLastError();
  throw RefusedRecording(reason);
}

class Graph final : public Context::Runtime::Recording {
 public:
  Graph(cudaGraph_t graph, cudaStream_t stream, int& num_graphs) : stream_(stream), num_graphs_(num_graphs) {
    // Without this flag, all nodes run with the priority of stream_, and NCCL waits behind the backward pass.
    require_recording(cudaGraphInstantiate(&executable_, graph, cudaGraphInstantiateFlagUseNodePriority),
                      "cudaGraphInstantiate");
    ++num_graphs_;
  }
  ~Graph() override {
    (void)cudaGraphExecDestroy(executable_);
    --num_graphs_;
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void replay() override {
    note_launch("a graph (use train.cuda_graph=false to see its kernels)");
    check(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch");
  }

 private:
  cudaStream_t stream_;
  int& num_graphs_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

std::unique_ptr<Context::Runtime::Recording> Runtime::record(const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  require_recording(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    work();
  } catch (const std::exception& e) {
    const bool is_refused = cudaStreamEndCapture(stream_, &graph) == cudaErrorStreamCaptureInvalidated;
    (void)cudaGetLastError();
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    if (is_refused) throw RefusedRecording(e.what());
    throw;
  }
  require_recording(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  const std::unique_ptr<CUgraph_st, cudaError_t (*)(cudaGraph_t)> owner(graph, cudaGraphDestroy);
  return std::make_unique<Graph>(graph, stream_, num_graphs_);
}

}  // namespace weft::cuda
