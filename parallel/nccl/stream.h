// parallel/nccl/stream.h: provides the communication stream of a Context. Its collectives run in call order, overlap
// with the computation, and are watched.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "parallel/nccl/comms.h"
#include "parallel/nccl/event.h"
#include "parallel/nccl/marks.h"
#include "parallel/nccl/watchdog.h"

namespace weft::nccl {

class CommunicationStream final : public Context::Watch {
 public:
  // Returns the stream of a Context. The first call creates the stream, which lives as long as any caller holds it.
  static std::shared_ptr<CommunicationStream> of(Context& ctx, NcclLimits limits);

  CommunicationStream(cudaStream_t computation, NcclLimits limits);
  ~CommunicationStream() override;

  void set_step(int64_t step) { step_ = step; }
  void check() override { watchdog_->check(); }
  void recording_ends() override { marks_.join(computation_); }
  void replayed() override { marks_.replayed(step_, computation_); }

  ncclComm_t connect(const ncclUniqueId& id, int size, int rank);       // may also throw Overdue
  void disconnect(ncclComm_t comm, const std::string& which) noexcept;  // waits for enqueued work
  void fail(ErrorKind kind, const std::string& reason) { watchdog_->fail(kind, reason); }
  void fail_overdue(const std::string& what) { fail(ErrorKind::peer, watchdog_->overdue_text(what)); }

  // Enqueues the NCCL calls of enqueue(stream) after all work that the computation has enqueued, then records `done`.
  template <typename Enqueue>
  void run(CollectiveCall collective, ncclComm_t comm, const Enqueue& enqueue, Event& done) {
    check();
    collective.step = step_;
    try {
      ready_.record(computation_);
      ready_.hold(stream_);
      marks_.begin(collective, ready_);
      comms_.call(comm, [&] { return enqueue(stream_); });
      done.record(stream_);
      marks_.end(done);
    } catch (const Overdue&) {
      fail_overdue(describe(collective));
    } catch (const Error& e) {
      fail(e.kind(), fmt::format("{}: {}", describe(collective), e.what()));
    }
    check();
  }
  void join(Event& done) { done.hold(computation_); }  // later work of the computation waits for `done`
  cudaStream_t computation() const { return computation_; }

  std::unique_ptr<Event> take_event();
  void give_back(std::unique_ptr<Event> event) { idle_events_.push_back(std::move(event)); }

 private:
  const cudaStream_t computation_;
  cudaStream_t stream_ = nullptr;
  int64_t step_ = -1;  // the current step; -1: unknown
  Event ready_;
  std::vector<std::unique_ptr<Event>> idle_events_;
  Marks marks_;
  Comms comms_;
  std::optional<Watchdog> watchdog_;  // its thread uses the other members
};

}  // namespace weft::nccl
