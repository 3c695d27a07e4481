// tests/emulation/runtime/capture.cpp: stream capture, by the rules of CUDA's programming guide.
#include "tests/emulation/runtime/capture.h"

#include <algorithm>
#include <utility>

namespace weft::emulation {
namespace {

std::vector<Capture*>& captures() {  // the active ones
  static auto* const all = new std::vector<Capture*>;
  return *all;
}

}  // namespace

void Capture::begin(const std::shared_ptr<Queue>& origin, cudaStreamCaptureMode mode, size_t refused_node) {
  if (origin->is_legacy) fail(cudaErrorStreamCaptureUnsupported, "the null stream cannot be captured");
  if (origin->capture != nullptr) fail(cudaErrorStreamCaptureUnsupported, "the stream is being captured already");
  const auto capture = std::make_shared<Capture>();
  capture->mode_ = mode, capture->refused_node_ = refused_node;
  capture->queues_.push_back(origin);
  origin->capture = capture;
  captures().push_back(capture.get());
}

void Capture::add(const Queue& queue, Work work) {
  if (!valid_) fail(cudaErrorStreamCaptureInvalidated, "an earlier call was not fit for a capture");
  if (!work.after.empty()) refuse(cudaErrorNotSupported, "a graph launched inside a capture");
  if (nodes_.size() == refused_node_) refuse(cudaErrorStreamCaptureUnsupported, "as the environment wants");
  Frontier& frontier = frontiers_[&queue];
  nodes_.push_back({std::move(work.run), std::move(frontier), queue.priority, std::move(work.counted)});
  frontier = {nodes_.size() - 1};
}

void Capture::wait(const std::shared_ptr<Queue>& queue, const Frontier& frontier) {
  if (!valid_) fail(cudaErrorStreamCaptureInvalidated, "an earlier call was not fit for a capture");
  if (queue->capture == nullptr) {
    if (queue->is_legacy) refuse(cudaErrorStreamCaptureImplicit, "the null stream waits for a captured event");
    queue->capture = shared_from_this();
    queues_.push_back(queue);
  } else if (queue->capture.get() != this) {
    refuse(cudaErrorStreamCaptureMerge, "a captured stream waits for an event of another capture");
  }
  Frontier& mine = frontiers_[queue.get()];
  mine.insert(mine.end(), frontier.begin(), frontier.end());
}

void Capture::refuse(cudaError_t status, const std::string& what) {
  valid_ = false;
  fail(status, what);
}

// Whether the origin's next node would depend on all nodes.
bool Capture::is_joined(const Queue& origin) const {
  std::vector<bool> before(nodes_.size());
  const auto mark = [&](const Frontier& after) {
    for (const size_t i : after) before[i] = true;
  };
  if (const auto last = frontiers_.find(&origin); last != frontiers_.end()) mark(last->second);
  for (size_t i = nodes_.size(); i-- > 0;)
    if (before[i]) mark(nodes_[i].after);
  return std::ranges::all_of(before, std::identity{});
}

GraphNodes Capture::end(const Queue& origin) {
  if (queues_.front().get() != &origin) refuse(cudaErrorStreamCaptureUnmatched, "the capture began on another stream");
  if (mode_ != cudaStreamCaptureModeRelaxed && thread_ != std::this_thread::get_id())
    refuse(cudaErrorStreamCaptureWrongThread, "the capture began on another thread");
  const auto keep = shared_from_this();
  for (const auto& queue : std::exchange(queues_, {})) queue->capture = nullptr;
  std::erase(captures(), this);
  const bool joined = is_joined(origin);
  GraphNodes nodes = std::exchange(nodes_, {});  // events may keep the capture alive, but not its nodes
  if (!valid_) fail(cudaErrorStreamCaptureInvalidated, "an earlier call was not fit for a capture");
  if (!joined) fail(cudaErrorStreamCaptureUnjoined, "a stream that took part is not waited for by the first");
  return nodes;
}

bool Capture::forbids_unsafe_calls() const {
  return mode_ == cudaStreamCaptureModeGlobal ||
         (mode_ == cudaStreamCaptureModeThreadLocal && thread_ == std::this_thread::get_id());
}

void require_no_capture(const char* call) {
  for (Capture* const capture : captures())
    if (capture->forbids_unsafe_calls())
      capture->refuse(cudaErrorStreamCaptureUnsupported, std::string(call) + " while a stream is being captured");
}

}  // namespace weft::emulation
