// tests/emulation/runtime/capture.h: a stream capture: the work of its streams becomes nodes of a graph
// instead of being executed. All functions require the machine's lock.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/emulation/machine/machine.h"

namespace weft::emulation {

struct GraphNode {
  std::function<Progress(Access& access)> run;
  std::vector<size_t> after;  // dependencies
  int priority = 0;           // of its stream
  Counted counted = {};       // each time it is replayed
};
using GraphNodes = std::vector<GraphNode>;
using Frontier = std::vector<size_t>;  // dependencies of a stream's next node

class Capture : public std::enable_shared_from_this<Capture> {
 public:
  static void begin(const std::shared_ptr<Queue>& origin, cudaStreamCaptureMode mode, size_t refused_node);
  GraphNodes end(const Queue& origin);  // throws if the capture is invalid; its streams are released either way

  void add(const Queue& queue, Work work);
  const Frontier& frontier(const Queue& queue) { return frontiers_[&queue]; }
  void wait(const std::shared_ptr<Queue>& queue, const Frontier& frontier);  // adds `queue` to the capture
  bool active() const { return !queues_.empty(); }
  bool valid() const { return valid_; }
  [[noreturn]] void refuse(cudaError_t status, const std::string& what);  // invalidates the capture

 private:
  bool is_joined(const Queue& origin) const;
  bool forbids_unsafe_calls() const;
  friend void require_no_capture(const char* call);

  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeGlobal;
  std::thread::id thread_ = std::this_thread::get_id();
  std::vector<std::shared_ptr<Queue>> queues_;  // the first is the origin
  std::map<const Queue*, Frontier> frontiers_;
  GraphNodes nodes_;
  size_t refused_node_ = 0;
  bool valid_ = true;
};

// Refuses calls that allocate or wait: they must not be captured, nor made during a capture that could depend on
// them.
void require_no_capture(const char* call);

}  // namespace weft::emulation
