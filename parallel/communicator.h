// parallel/communicator.h: collectives over a group of ranks.
//
// Every implementation provides every collective, even for a group of one. Reductions add in rank order (over several
// hosts with equally many ranks: within hosts, then in the order of hosts), so results are bit-identical on every rank
// and in every run. REQUIRES: all ranks of a group make the same calls in the same order. Tensors are contiguous and
// have any type and length (they are chunked internally). bf16 and f16 are summed in f32 and rounded once; NCCL adds in
// its own order and rounds each time. A failed peer causes an Error, never a hang.
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

// A collective in progress. It owns its tensors until wait() returns. REQUIRES: wait() is called before destruction.
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
  // Asynchronous. The smaller tensor may be this rank's place in the other one; x is then undefined elsewhere.
  virtual std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) = 0;
  virtual std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) = 0;
  // Asynchronous. Sets y[r] to the part of rank r's x for this rank; x and y are [size, ...] and do not overlap.
  virtual std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) = 0;
  virtual void broadcast(const Tensor& x, int root) = 0;
  // Works in place: all ranks get parts[r], of any length, from rank r. The parts have one dtype and do not overlap.
  virtual void all_gather_v(const std::vector<Tensor>& parts);
  virtual void barrier() = 0;
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;  // ordered by key
  // Splits into one group per host, in this group's order. Threads of one process are on one host.
  virtual std::unique_ptr<Communicator> split_by_host() { return split(0, rank()); }

  // Sets the step of the next collectives, for the message if one of them hangs.
  virtual void set_step(int64_t) {}
  // From now on, a wait for other ranks that exceeds `seconds` ends this process with a message. Where it waited, and
  // its recent collectives, are written to `folder` (nowhere if it is ""). Over NCCL, NcclLimits does the same.
  virtual void limit_waits(double /*seconds*/, const std::string& /*folder*/) {}

  // Returns the seconds that this process has spent waiting in collectives of any group, or 0 if they are not measured.
  virtual double seconds_waited() const { return 0; }

  // These helpers communicate host values.
  double sum(double value);
  int64_t max(int64_t value);
  std::string broadcast_string(const std::string& text, int root);  // returns root's text on all ranks
  std::vector<std::string> all_gather_strings(const std::string& text);
};

std::unique_ptr<Communicator> make_single_communicator();  // a group of one

std::string host_name();  // name of the machine that runs this process

// Runs body(rank's communicator) on `size` threads of this process and joins them. Rethrows the first exception, and
// releases the other ranks from any collective that they are in.
void run_thread_ranks(int size, const std::function<void(Communicator&)>& body);

// REQUIRES: all ranks call it after a local phase that may fail, with nullptr or the error. Either all return, or all
// throw the same Error (the lowest failing rank's, naming it), so that no rank waits for one that has failed.
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
