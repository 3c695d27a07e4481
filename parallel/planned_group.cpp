// parallel/planned_group.cpp: notes each collective and returns.
#include "parallel/planned_group.h"

namespace weft {
namespace {

class NothingPending final : public PendingWork {
 public:
  void poll() override {}
  void wait() override {}
};

class PlannedGroup final : public Communicator {
 public:
  PlannedGroup(int size, OpTrace* trace, const char* all_reduce)
      : size_(size), trace_(trace), all_reduce_(all_reduce) {}
  int rank() const override { return 0; }
  int size() const override { return size_; }

  void all_reduce(const Tensor& x, ReduceOp) override { note_collective(trace_, all_reduce_, x); }
  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override { return started(all_reduce_, x); }
  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor&) override {
    return started(kDpAllGather, x);
  }
  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor&) override {
    return started(kDpReduceScatter, x);
  }
  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor&) override {
    return started(kDpAllToAll, x);
  }
  void all_gather(const Tensor& x, const Tensor&) override { note_collective(trace_, kDpAllGather, x); }
  void reduce_scatter(const Tensor& x, const Tensor&) override { note_collective(trace_, kDpReduceScatter, x); }
  void broadcast(const Tensor& x, int) override { note_collective(trace_, kDpBroadcast, x); }
  void all_gather_v(const std::vector<Tensor>& parts) override {
    int64_t numel = 0;
    for (const Tensor& part : parts) numel += part.numel();
    note_collective(trace_, kDpAllGather, Tensor(nullptr, {numel}, parts.front().dtype, parts.front().device));
  }
  void barrier() override {}
  std::unique_ptr<Communicator> split(int, int) override { return make_planned_group(size_, trace_, all_reduce_); }

 private:
  std::unique_ptr<PendingWork> started(const char* name, const Tensor& x) {
    note_collective(trace_, name, x);
    return std::make_unique<NothingPending>();
  }

  int size_;
  OpTrace* trace_;
  const char* all_reduce_;
};

}  // namespace

void note_collective(OpTrace* trace, const char* name, const Tensor& x) {
  if (trace == nullptr || !trace->keeps_ops) return;
  trace->ops.push_back({.name = name,
                        .cost = {.bytes = static_cast<double>(x.bytes())},
                        .operands = {{.name = "x", .tensor = x, .added = false}},
                        .again = {}});
}

std::unique_ptr<Communicator> make_planned_group(int size, OpTrace* trace, const char* all_reduce) {
  return std::make_unique<PlannedGroup>(size, trace, all_reduce);
}

}  // namespace weft
