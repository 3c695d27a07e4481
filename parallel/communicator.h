// parallel/communicator.h: declares collectives over a group of ranks.
//
// Every implementation provides every collective, even for a group of one. Reductions add in rank order, so results are
// bit-identical on every rank and in every run. (If several hosts have the same number of ranks, reductions add within
// each host first, then in host order.) REQUIRES: all ranks of a group make the same calls in the same order. Tensors
// must be contiguous, but may have any type and length. bf16 and f16 are summed in f32 and rounded once. NCCL is an
// exception: it adds in its own order, and rounds each time. A failed peer causes an Error, never a hang.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace weft {

enum class ReduceOp : uint8_t { sum, max };

// A collective in progress, which owns its tensors until wait() returns. REQUIRES: wait() is called before destruction.
class PendingWork {
 public:
  virtual ~PendingWork() = default;
  virtual void poll() = 0;  // makes progress; never blocks
  virtual void wait() = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool is_main_rank() const { return rank() == 0; }

  virtual void all_reduce(const Tensor& x, ReduceOp op = ReduceOp::sum) = 0;   // in place
  virtual std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) = 0;  // sum, in place, asynchronous
  virtual void all_gather(const Tensor& x, const Tensor& y) = 0;               // y [size, ...x], rank order
  virtual void reduce_scatter(const Tensor& x, const Tensor& y) = 0;           // x [size, ...y], sum
  // Both are asynchronous. The smaller tensor may be this rank's slice of the larger tensor. In this case, a
  // reduce-scatter leaves the rest of x undefined.
  virtual std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) = 0;
  virtual std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) = 0;
  // Asynchronous. Sets y[r] to rank r's x[rank()]. x and y are [size, ...] and must not overlap.
  virtual std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) = 0;
  virtual void broadcast(const Tensor& x, int root) = 0;
  // Sends parts[r] from rank r to all ranks, in place. Parts have one dtype, do not overlap, and may differ in length.
  virtual void all_gather_v(const std::vector<Tensor>& parts);
  virtual void barrier() = 0;
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;  // ranks are ordered by key
  // Splits this group into one group per host, in this group's order. Threads of one process are on one host.
  virtual std::unique_ptr<Communicator> split_by_host() { return split(0, rank()); }

  // Sets the step that a message names if one of the next collectives hangs.
  virtual void set_step(int64_t) {}
  // After this call, a wait for other ranks that exceeds `seconds` ends this process with a message. Unless `folder` is
  // "", the process also writes its wait and recent collectives to the folder. Over NCCL, NcclLimits sets the limit.
  virtual void limit_waits(double /*seconds*/, const std::string& /*folder*/) {}

  // Returns the seconds that this process has spent waiting in collectives of any group, or 0 if waits are unmeasured.
  virtual double seconds_waited() const { return 0; }

  // These helpers communicate host values.
  double sum(double value);
  int64_t max(int64_t value);
  std::string broadcast_string(const std::string& text, int root);  // returns root's text on all ranks
  std::vector<std::string> all_gather_strings(const std::string& text);
};

std::unique_ptr<Communicator> make_single_communicator();  // a group of one

std::string host_name();  // name of the machine that runs this process

// Runs body(communicator) on `size` threads of this process, one per rank, and joins them. Rethrows the first
// exception, and releases the other ranks from the collectives that they wait in.
void run_thread_ranks(int size, const std::function<void(Communicator&)>& body);

// All ranks call this after a local phase that may fail. If any `error` is not null, all ranks throw the error of the
// lowest failing rank, with that rank in the message, so that no rank waits for a failed one.
void agree(Communicator& world, const std::exception_ptr& error);

// Runs a phase that may fail on some ranks, agrees on its outcome, and returns its result.
template <typename Phase>
auto all_or_none(Communicator& world, Phase&& phase) {
  std::exception_ptr error;
  const auto attempt = [&](auto&& run) {
    try {
      run();
    } catch (...) {
      error = std::current_exception();
    }
    agree(world, error);
  };
  if constexpr (std::is_void_v<decltype(phase())>) {
    attempt(phase);
  } else {
    std::optional<decltype(phase())> result;
    attempt([&] { result.emplace(phase()); });
    return std::move(*result);
  }
}

}  // namespace weft
