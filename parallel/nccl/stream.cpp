// parallel/nccl/stream.cpp: creates and destroys the communication stream.
#include "parallel/nccl/stream.h"

#include <exception>
#include <utility>

namespace weft::nccl {

std::shared_ptr<CommunicationStream> CommunicationStream::of(Context& ctx, NcclLimits limits) {
  auto stream = std::dynamic_pointer_cast<CommunicationStream>(ctx.watch());
  if (!stream) {
    stream = std::make_shared<CommunicationStream>(static_cast<cudaStream_t>(ctx.runtime().stream()), limits);
    ctx.set_watch(stream);
  }
  return stream;
}

CommunicationStream::CommunicationStream(cudaStream_t computation, NcclLimits limits)
    : computation_(computation),
      stream_(make_urgent_stream()),
      comms_(limits.collective),
      watchdog_(std::in_place, comms_, marks_, limits) {}

// Enqueued work still writes marks, so the destructor waits for this work. The wait cannot hang, because after a
// failure the watchdog has aborted everything.
CommunicationStream::~CommunicationStream() {
  watchdog_.reset();
  cudaStreamSynchronize(stream_);
  cudaStreamSynchronize(computation_);  // graphs may contain collectives
  cudaStreamDestroy(stream_);
}

ncclComm_t CommunicationStream::connect(const ncclUniqueId& id, int size, int rank) {
  check();
  return comms_.connect(id, size, rank);
}

void CommunicationStream::disconnect(ncclComm_t comm, const std::string& which) noexcept {
  if (watchdog_->failed()) return;  // the watchdog has aborted everything
  try {
    nccl::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    check();
    comms_.finish(comm);
  } catch (const Overdue&) {
    fail_overdue("closing the communicator of " + which);
  } catch (const std::exception& e) {
    fail(ErrorKind::peer, e.what());
  }
}

std::unique_ptr<Event> CommunicationStream::take_event() {
  if (idle_events_.empty()) return std::make_unique<Event>();
  std::unique_ptr<Event> event = std::move(idle_events_.back());
  idle_events_.pop_back();
  return event;
}

}  // namespace weft::nccl
