// parallel/staged_communicator.cpp: copies to the host, calls the collective, copies back.
#include "parallel/staged_communicator.h"

#include <utility>
#include <vector>

#include "tensor/transfer.h"

namespace weft {
namespace {

// Holds a tensor's copy in host memory.
class HostCopy {
 public:
  Tensor of(const Tensor& x) {  // uninitialized, or with the last call's values
    if (bytes_.size() < x.bytes()) bytes_.resize(x.bytes());
    return Tensor(bytes_.data(), x.shape, x.dtype);
  }

 private:
  std::vector<std::byte> bytes_;
};
using IdleCopies = std::vector<std::unique_ptr<HostCopy>>;

class StagedWork final : public PendingWork {
 public:
  // Calls start(x, y) on the host with copies of x and y, or with one copy if x and y are the same tensor.
  template <typename Start>
  StagedWork(Context& ctx, const Tensor& x, const Tensor& y, IdleCopies& idle, const Start& start)
      : ctx_(ctx), y_(y), idle_(idle), from_(take(idle)) {
    const Tensor host_x = from_->of(x);
    download(ctx, x, host_x.data);
    host_y_ = host_x;
    if (y.data != x.data || y.numel() != x.numel()) to_ = take(idle), host_y_ = to_->of(y);
    inner_ = start(host_x, host_y_);
  }
  ~StagedWork() override {
    // If an exception abandons the work, `inner` may still write to the copies, so they are never freed.
    if (from_) static_cast<void>(from_.release());
    if (to_) static_cast<void>(to_.release());
  }
  void poll() override {
    if (inner_) inner_->poll();
  }
  void wait() override {
    if (!inner_) return;
    inner_->wait();
    upload(ctx_, host_y_.data, y_);
    inner_.reset();
    idle_.push_back(std::move(from_));
    if (to_) idle_.push_back(std::move(to_));
  }

 private:
  static std::unique_ptr<HostCopy> take(IdleCopies& idle) {
    if (idle.empty()) return std::make_unique<HostCopy>();
    std::unique_ptr<HostCopy> copy = std::move(idle.back());
    idle.pop_back();
    return copy;
  }

  Context& ctx_;
  Tensor y_;
  IdleCopies& idle_;
  std::unique_ptr<HostCopy> from_, to_;
  Tensor host_y_;
  std::unique_ptr<PendingWork> inner_;
};

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(Communicator& inner, Context& ctx) : inner_(inner), ctx_(ctx) {}
  StagedCommunicator(std::unique_ptr<Communicator> inner, Context& ctx)
      : owned_(std::move(inner)), inner_(*owned_), ctx_(ctx) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void set_step(int64_t step) override { inner_.set_step(step); }

  void all_reduce(const Tensor& x, ReduceOp op) override {
    const Tensor host = to_host(x, from_);
    inner_.all_reduce(host, op);
    upload(ctx_, host.data, x);
  }
  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override {
    return std::make_unique<StagedWork>(
        ctx_, x, x, idle_, [&](const Tensor& host, const Tensor&) { return inner_.start_all_reduce(host); });
  }
  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) override {
    return std::make_unique<StagedWork>(ctx_, x, y, idle_, [&](const Tensor& host_x, const Tensor& host_y) {
      return inner_.start_all_gather(host_x, host_y);
    });
  }
  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) override {
    return std::make_unique<StagedWork>(ctx_, x, y, idle_, [&](const Tensor& host_x, const Tensor& host_y) {
      return inner_.start_reduce_scatter(host_x, host_y);
    });
  }
  void all_gather(const Tensor& x, const Tensor& y) override {
    const Tensor all = to_.of(y);
    inner_.all_gather(to_host(x, from_), all);
    upload(ctx_, all.data, y);
  }
  void reduce_scatter(const Tensor& x, const Tensor& y) override {
    const Tensor mine = to_.of(y);
    inner_.reduce_scatter(to_host(x, from_), mine);
    upload(ctx_, mine.data, y);
  }
  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) override {
    return std::make_unique<StagedWork>(ctx_, x, y, idle_, [&](const Tensor& host_x, const Tensor& host_y) {
      return inner_.start_all_to_all(host_x, host_y);
    });
  }
  void broadcast(const Tensor& x, int root) override {
    const bool sends = rank() == root;
    const Tensor host = sends ? to_host(x, from_) : to_.of(x);
    inner_.broadcast(host, root);
    if (!sends) upload(ctx_, host.data, x);
  }
  void barrier() override {
    ctx_.synchronize();
    inner_.barrier();
  }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<StagedCommunicator>(inner_.split(color, key), ctx_);
  }
  std::unique_ptr<Communicator> split_by_host() override {
    return std::make_unique<StagedCommunicator>(inner_.split_by_host(), ctx_);
  }

 private:
  Tensor to_host(const Tensor& x, HostCopy& copy) {
    const Tensor host = copy.of(x);
    download(ctx_, x, host.data);
    return host;
  }

  std::unique_ptr<Communicator> owned_;  // for a group made by split()
  Communicator& inner_;
  Context& ctx_;
  HostCopy from_, to_;
  IdleCopies idle_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(Communicator& inner, Context& ctx) {
  return std::make_unique<StagedCommunicator>(inner, ctx);
}

}  // namespace weft
