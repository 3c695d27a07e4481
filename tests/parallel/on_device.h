// tests/parallel/on_device.h: the shared communicator cases on a device: copies each host tensor to the
// device, runs the collective and copies the result back.
#pragma once

#include <deque>
#include <memory>
#include <optional>
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
    auto work = std::make_unique<Work>();
    work->x.emplace(ctx_, x);
    work->inner = inner_.start_all_reduce(work->x->tensor());
    return work;
  }
  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) override {
    auto work = std::make_unique<Work>();
    work->x.emplace(ctx_, y);
    const Tensor to = work->x->tensor();
    if (!is_place(x, y)) work->y.emplace(ctx_, x);
    work->inner = inner_.start_all_gather(work->y ? work->y->tensor() : place_of(x, to), to);
    return work;
  }
  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) override {
    auto work = std::make_unique<Work>();
    work->x.emplace(ctx_, x);
    const Tensor from = work->x->tensor();
    if (!is_place(y, x)) work->y.emplace(ctx_, y);
    work->inner = inner_.start_reduce_scatter(from, work->y ? work->y->tensor() : place_of(y, from));
    return work;
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
  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) override {
    auto work = std::make_unique<Work>();
    work->x.emplace(ctx_, x), work->y.emplace(ctx_, y);
    work->inner = inner_.start_all_to_all(work->x->tensor(), work->y->tensor());
    return work;
  }
  void broadcast(const Tensor& x, int root) override {
    const DeviceCopy copy(ctx_, x);
    inner_.broadcast(copy.tensor(), root);
    copy.copy_back();
  }
  void all_gather_v(const std::vector<Tensor>& parts) override {
    std::deque<DeviceCopy> copies;
    std::vector<Tensor> on_device;
    for (const Tensor& part : parts) on_device.push_back(copies.emplace_back(ctx_, part).tensor());
    inner_.all_gather_v(on_device);
    for (const DeviceCopy& copy : copies) copy.copy_back();
  }
  void barrier() override { inner_.barrier(); }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<OnDevice>(ctx_, inner_.split(color, key));
  }

 private:
  struct Work final : PendingWork {
    void poll() override { inner->poll(); }
    void wait() override {
      inner->wait();
      x->copy_back();
      if (y) y->copy_back();
    }

    std::optional<DeviceCopy> x, y;
    std::unique_ptr<PendingWork> inner;
  };

  // This rank's place in the whole tensor.
  bool is_place(const Tensor& part, const Tensor& whole) const {
    return part.data == static_cast<std::byte*>(whole.data) + static_cast<size_t>(rank()) * part.bytes();
  }
  Tensor place_of(const Tensor& part, const Tensor& whole) const {
    return whole.slice_rows(rank(), 1).with_shape(part.shape);
  }

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
