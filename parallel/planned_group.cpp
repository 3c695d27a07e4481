// parallel/planned_group.cpp: records each collective and returns.
#include "parallel/planned_group.h"

#include <utility>

#include "parallel/collective.h"

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
  void all_gather_v(const std::vector<Tensor>& parts) override { note_collective(trace_, kDpAllGatherV, parts); }
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

void note_collective(OpTrace* trace, const char* name, const std::vector<Tensor>& parts) {
  if (trace == nullptr || !trace->keeps_ops) return;
  OpTrace::Op op{.name = name, .cost = {.bytes = static_cast<double>(bytes_of(parts))}, .operands = {}, .again = {}};
  for (const Tensor& part : parts) op.operands.push_back({.name = "x", .tensor = part, .added = false});
  trace->ops.push_back(std::move(op));
}

void note_collective(OpTrace* trace, const char* name, const Tensor& x) {
  note_collective(trace, name, std::vector<Tensor>{x});
}

std::unique_ptr<Communicator> make_planned_group(int size, OpTrace* trace, const char* all_reduce) {
  return std::make_unique<PlannedGroup>(size, trace, all_reduce);
}

}  // namespace weft
