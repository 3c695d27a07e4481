// tests/parallel/on_device.h: the shared communicator cases on a device: copies each host tensor to the
// device, runs the collective and copies the result back.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/memory.h"
#include "tensor/transfer.h"
#include "tests/parallel/communicator_cases.h"

namespace weft::testing {

// A host tensor's copy on the device.
class DeviceCopy {
 public:
  DeviceCopy(Context& ctx, const Tensor& host)
      : ctx_(ctx), host_(host), buffer_(host.bytes(), ctx.device()), tensor_(buffer_.tensor(host.shape, host.dtype)) {
    upload(ctx, host.data, tensor_);
  }
  const Tensor& tensor() const { return tensor_; }
  void copy_back() const { download(ctx_, tensor_, host_.data); }

 private:
  Context& ctx_;
  Tensor host_;
  Buffer buffer_;
  Tensor tensor_;
};

class OnDevice final : public Communicator {
 public:
  OnDevice(Context& ctx, Communicator& inner) : ctx_(ctx), inner_(inner) {}
  OnDevice(Context& ctx, std::unique_ptr<Communicator> inner) : ctx_(ctx), owned_(std::move(inner)), inner_(*owned_) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }

  void all_reduce(const Tensor& x, ReduceOp op) override {
    const DeviceCopy copy(ctx_, x);
    inner_.all_reduce(copy.tensor(), op);
    copy.copy_back();
  }
  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override {
    return std::make_unique<Work>(inner_, std::make_unique<DeviceCopy>(ctx_, x));
  }
  void all_gather(const Tensor& x, const Tensor& y) override {
    const DeviceCopy from(ctx_, x), to(ctx_, y);
    inner_.all_gather(from.tensor(), to.tensor());
    from.copy_back();
    to.copy_back();
  }
  void reduce_scatter(const Tensor& x, const Tensor& y) override {
    const DeviceCopy from(ctx_, x), to(ctx_, y);
    inner_.reduce_scatter(from.tensor(), to.tensor());
    from.copy_back();
    to.copy_back();
  }
  void broadcast(const Tensor& x, int root) override {
    const DeviceCopy copy(ctx_, x);
    inner_.broadcast(copy.tensor(), root);
    copy.copy_back();
  }
  void barrier() override { inner_.barrier(); }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<OnDevice>(ctx_, inner_.split(color, key));
  }

 private:
  class Work final : public PendingWork {
   public:
    Work(Communicator& inner, std::unique_ptr<DeviceCopy> copy)
        : copy_(std::move(copy)), inner_(inner.start_all_reduce(copy_->tensor())) {}
    void poll() override { inner_->poll(); }
    void wait() override {
      inner_->wait();
      copy_->copy_back();
    }

   private:
    std::unique_ptr<DeviceCopy> copy_;
    std::unique_ptr<PendingWork> inner_;
  };

  Context& ctx_;
  std::unique_ptr<Communicator> owned_;  // of a split group
  Communicator& inner_;
};

// The cases for NCCL, whose maximum may lose a NaN; run them with sums_in_rank_order = false.
inline std::vector<CommunicatorCase> nccl_cases() {
  std::vector<CommunicatorCase> cases = kCommunicatorCases;
  std::erase_if(cases, [](const CommunicatorCase& one) { return one.run == a_nan_is_the_maximum_everywhere; });
  return cases;
}

}  // namespace weft::testing
