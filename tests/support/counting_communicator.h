// tests/support/counting_communicator.h: a communicator that counts the collectives of a group and of the groups split
// from it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "parallel/collective.h"

namespace weft::testing {

struct Counted {
  int64_t calls = 0;
  double bytes = 0;  // of this rank's tensors
  bool operator==(const Counted&) const = default;
};
using Counts = std::map<std::string, Counted>;  // "world all_gather", "0 all_reduce": groups in the order of the splits

class CountingCommunicator final : public Communicator {
 public:
  CountingCommunicator(Communicator& inner, Counts& counts) : CountingCommunicator(inner, counts, "world") {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void all_reduce(const Tensor& x, ReduceOp op) override { count("all_reduce", x), inner_.all_reduce(x, op); }
  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override {
    count("all_reduce", x);
    return inner_.start_all_reduce(x);
  }
  void all_gather(const Tensor& x, const Tensor& y) override { count("all_gather", x), inner_.all_gather(x, y); }
  void reduce_scatter(const Tensor& x, const Tensor& y) override {
    count("reduce_scatter", x), inner_.reduce_scatter(x, y);
  }
  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) override {
    count("all_gather", x);
    return inner_.start_all_gather(x, y);
  }
  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) override {
    count("reduce_scatter", x);
    return inner_.start_reduce_scatter(x, y);
  }
  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) override {
    count("all_to_all", x);
    return inner_.start_all_to_all(x, y);
  }
  void broadcast(const Tensor& x, int root) override { count("broadcast", x), inner_.broadcast(x, root); }
  void all_gather_v(const std::vector<Tensor>& parts) override {
    count("all_gather_v", bytes_of(parts));
    inner_.all_gather_v(parts);
  }
  void barrier() override { inner_.barrier(); }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::unique_ptr<Communicator>(
        new CountingCommunicator(inner_.split(color, key), counts_, std::to_string(num_splits_++)));
  }

 private:
  CountingCommunicator(Communicator& inner, Counts& counts, std::string group)
      : inner_(inner), counts_(counts), group_(std::move(group)) {}
  CountingCommunicator(std::unique_ptr<Communicator> inner, Counts& counts, std::string group)
      : owned_(std::move(inner)), inner_(*owned_), counts_(counts), group_(std::move(group)) {}

  void count(const char* collective, const Tensor& x) { count(collective, x.bytes()); }
  void count(const char* collective, size_t bytes) {
    Counted& counted = counts_[group_ + " " + collective];
    ++counted.calls;
    counted.bytes += static_cast<double>(bytes);
  }

  std::unique_ptr<Communicator> owned_;
  Communicator& inner_;
  Counts& counts_;
  std::string group_;
  int num_splits_ = 0;
};

}  // namespace weft::testing
