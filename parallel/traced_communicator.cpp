// parallel/traced_communicator.cpp: forwards each collective and measures its time.
#include "parallel/traced_communicator.h"

namespace weft {
namespace {

class TracedWork final : public PendingWork {
 public:
  TracedWork(std::unique_ptr<PendingWork> inner, OpTrace& trace) : inner_(std::move(inner)), trace_(trace) {}
  void poll() override {
    const TracedCall call(&trace_, kCollective);
    inner_->poll();
  }
  void wait() override {
    const TracedCall call(&trace_, kCollective);
    inner_->wait();
  }

 private:
  std::unique_ptr<PendingWork> inner_;
  OpTrace& trace_;
};

class TracedCommunicator final : public Communicator {
 public:
  TracedCommunicator(Communicator& inner, OpTrace& trace) : inner_(inner), trace_(trace) {}
  TracedCommunicator(std::unique_ptr<Communicator> inner, OpTrace& trace)
      : owned_(std::move(inner)), inner_(*owned_), trace_(trace) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }

  void all_reduce(const Tensor& x, ReduceOp op) override {
    const TracedCall call(&trace_, kCollective);
    inner_.all_reduce(x, op);
  }
  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override {
    const TracedCall call(&trace_, kCollective);
    return std::make_unique<TracedWork>(inner_.start_all_reduce(x), trace_);
  }
  void all_gather(const Tensor& x, const Tensor& y) override {
    const TracedCall call(&trace_, kCollective);
    inner_.all_gather(x, y);
  }
  void reduce_scatter(const Tensor& x, const Tensor& y) override {
    const TracedCall call(&trace_, kCollective);
    inner_.reduce_scatter(x, y);
  }
  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) override {
    const TracedCall call(&trace_, kCollective);
    return std::make_unique<TracedWork>(inner_.start_all_gather(x, y), trace_);
  }
  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) override {
    const TracedCall call(&trace_, kCollective);
    return std::make_unique<TracedWork>(inner_.start_reduce_scatter(x, y), trace_);
  }
  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) override {
    const TracedCall call(&trace_, kCollective);
    return std::make_unique<TracedWork>(inner_.start_all_to_all(x, y), trace_);
  }
  void broadcast(const Tensor& x, int root) override {
    const TracedCall call(&trace_, kCollective);
    inner_.broadcast(x, root);
  }
  void all_gather_v(const std::vector<Tensor>& parts) override {
    const TracedCall call(&trace_, kCollective);
    inner_.all_gather_v(parts);
  }
  void barrier() override {
    const TracedCall call(&trace_, kCollective);
    inner_.barrier();
  }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<TracedCommunicator>(inner_.split(color, key), trace_);
  }
  std::unique_ptr<Communicator> split_by_host() override {
    return std::make_unique<TracedCommunicator>(inner_.split_by_host(), trace_);
  }
  void set_step(int64_t step) override { inner_.set_step(step); }

 private:
  std::unique_ptr<Communicator> owned_;  // for a group made by split()
  Communicator& inner_;
  OpTrace& trace_;
};

}  // namespace

std::unique_ptr<Communicator> make_traced_communicator(Communicator& inner, OpTrace& trace) {
  return std::make_unique<TracedCommunicator>(inner, trace);
}

}  // namespace weft
