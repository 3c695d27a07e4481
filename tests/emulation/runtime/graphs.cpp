// tests/emulation/runtime/graphs.cpp: graphs: replays a capture as one item of a stream's work, with its
// nodes in any order that their dependencies allow. If the graph keeps priorities, half of the replays prefer nodes
// with a greater one: a priority guarantees no order.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/emulation/runtime/capture.h"
#include "tests/emulation/runtime/device.h"

using namespace weft::emulation;

struct CUgraph_st {
  std::shared_ptr<const GraphNodes> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<const GraphNodes> nodes;
  bool has_priorities = false;
  Point last;  // launches of one graph run one after the other
};

namespace {

class Replay {
 public:
  Replay(std::shared_ptr<const GraphNodes> nodes, int device, bool has_priorities)
      : nodes_(std::move(nodes)),
        device_(device),
        prefers_(has_priorities && machine().draw() % 2 == 0),
        missing_(nodes_->size()) {
    followers_.resize(nodes_->size());
    for (size_t i = 0; i < nodes_->size(); ++i) {
      missing_[i] = (*nodes_)[i].after.size();
      for (const size_t before : (*nodes_)[i].after) followers_[before].push_back(i);
      if (missing_[i] == 0) ready_.push_back(i);
    }
  }

  Progress step(Access& access) {  // runs one ready node
    for (std::vector<size_t> untried = ready_; !untried.empty();) {
      const size_t at = choose(untried), node = untried[at];
      const Progress progress = (*nodes_)[node].run(access);
      if (progress == Progress::finished) {
        finish(node);
        return ready_.empty() ? Progress::finished : Progress::advanced;
      }
      if (progress == Progress::advanced) return progress;
      untried.erase(untried.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return ready_.empty() ? Progress::finished : Progress::blocked;
  }

 private:
  size_t choose(const std::vector<size_t>& nodes) const {  // an index
    if (!prefers_) return machine().draw() % nodes.size();
    const auto priority = [&](size_t node) { return (*nodes_)[node].priority; };
    return static_cast<size_t>(std::ranges::min_element(nodes, {}, priority) - nodes.begin());
  }

  void finish(size_t node) {
    count(device_, (*nodes_)[node].counted);
    std::erase(ready_, node);
    for (const size_t follower : followers_[node])
      if (--missing_[follower] == 0) ready_.push_back(follower);
  }

  std::shared_ptr<const GraphNodes> nodes_;
  int device_;
  bool prefers_;  // nodes with a greater priority
  std::vector<size_t> missing_, ready_;
  std::vector<std::vector<size_t>> followers_;
};

// WEFT_EMULATION_REFUSED_CAPTURE=DEVICE:NUMBER:NODE: this capture of the device fails at this node. The first capture
// is number 0.
size_t refused_node(int device) {
  static std::map<int, int> captures;
  const char* const setting = std::getenv("WEFT_EMULATION_REFUSED_CAPTURE");
  if (setting == nullptr) return captures.clear(), SIZE_MAX;
  const std::string chosen = std::to_string(device) + ":" + std::to_string(captures[device]++) + ":";
  const std::string text = setting;
  return text.starts_with(chosen) ? std::stoul(text.substr(chosen.size())) : SIZE_MAX;
}

bool is_copy(const GraphNode& node) { return node.counted.what.starts_with("copy "); }

}  // namespace

CopiesInGraph weft::emulation::copies_in(cudaGraph_t graph) {
  const GraphNodes& nodes = *graph->nodes;
  CopiesInGraph found;
  std::vector<bool> waits(nodes.size());  // dependencies come first
  for (size_t i = 0; i < nodes.size(); ++i) {
    waits[i] = std::ranges::any_of(nodes[i].after, [&](size_t j) { return waits[j] || is_copy(nodes[j]); });
    ++(is_copy(nodes[i]) ? found.copies : waits[i] ? found.waiting : found.others);
  }
  return found;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call([&] {
    const auto lock = machine().lock();
    const auto queue = queue_of(stream);
    Capture::begin(queue, mode, refused_node(queue->device));
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  return call([&] {
    const auto lock = machine().lock();
    const auto queue = queue_of(stream);
    if (queue->capture == nullptr) fail(cudaErrorInvalidValue, "the stream is not being captured");
    auto nodes = std::make_shared<const GraphNodes>(queue->capture->end(*queue));
    *graph = new CUgraph_st{std::move(nodes)};
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call([&] {
    const auto lock = machine().lock();
    const auto& capture = queue_of(stream)->capture;
    *status = capture == nullptr ? cudaStreamCaptureStatusNone
              : capture->valid() ? cudaStreamCaptureStatusActive
                                 : cudaStreamCaptureStatusInvalidated;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return call([&] {
    if (graph == nullptr) fail(cudaErrorInvalidValue, "cudaGraphGetNodes of no graph");
    if (nodes != nullptr) fail(cudaErrorNotSupported, "the nodes of a graph; only their number can be had");
    *count = graph->nodes->size();
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return call([&] {
    if (graph == nullptr) fail(cudaErrorInvalidValue, "cudaGraphInstantiate of no graph");
    if ((flags & ~cudaGraphInstantiateFlagUseNodePriority) != 0)
      fail(cudaErrorNotSupported, "flags of cudaGraphInstantiate");
    *executable = new CUgraphExec_st{graph->nodes, flags != 0, {}};
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return call([&] {
    if (executable == nullptr) fail(cudaErrorInvalidValue, "cudaGraphLaunch of no graph");
    const auto lock = machine().lock();
    const auto queue = queue_of(stream);
    machine().sound_device(queue->device);
    const auto replay = std::make_shared<Replay>(executable->nodes, queue->device, executable->has_priorities);
    count(queue->device, {.what = "cudaGraphLaunch"});
    executable->last =
        machine().push(queue, {[replay](Access& access) { return replay->step(access); }, {executable->last}});
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
