// parallel/communicator.h: collectives over a group of ranks.
//
// Every implementation does every collective, a group of one included. Reductions add in rank order, so results are
// the same bits on every rank and in every run. All ranks of a group make the same calls in the same order.
// Tensors are contiguous, f32, f64 or i32; any length (chunked inside). A failed peer is an Error, never a hang of
// ours.
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

// A collective under way. Its tensors belong to it until wait() returns. Destroying one that was not waited for is a
// bug.
class PendingWork {
 public:
  virtual ~PendingWork() = default;
  virtual void poll() = 0;  // lets it progress; never blocks
  virtual void wait() = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool is_main_rank() const { return rank() == 0; }

  virtual void all_reduce(const Tensor& x, ReduceOp op = ReduceOp::sum) = 0;   // in place
  virtual std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) = 0;  // sum, in place, beside the caller
  virtual void all_gather(const Tensor& x, const Tensor& y) = 0;               // y [size, ...x], rank order
  virtual void reduce_scatter(const Tensor& x, const Tensor& y) = 0;           // x [size, ...y], sum
  virtual void broadcast(const Tensor& x, int root) = 0;
  virtual void barrier() = 0;
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;  // ordered by key
  // The ranks of each host for themselves, in the order of this group. Threads of one process are on one.
  virtual std::unique_ptr<Communicator> split_by_host() { return split(0, rank()); }

  // The step that the next collectives belong to: for the message if one of them does not end.
  virtual void set_step(int64_t) {}

  // Conveniences over the above, for host values.
  double sum(double value);
  int64_t max(int64_t value);
  std::string broadcast_string(const std::string& text, int root);  // root's text, everywhere
  std::vector<std::string> all_gather_strings(const std::string& text);
};

std::unique_ptr<Communicator> make_single_communicator();  // a group of one

std::string host_name();  // of the machine that this process runs on

// Runs body(rank's communicator) on `size` threads of this process and joins them; the first exception is thrown again,
// and the other ranks are released from whatever collective they are in.
void run_thread_ranks(int size, const std::function<void(Communicator&)>& body);

// All ranks call it after a fallible local phase, with nullptr or what went wrong: either all return, or all throw the
// same Error (the lowest failing rank's, naming it), so that nobody waits for a rank that has given up.
void agree(Communicator& world, const std::exception_ptr& error);

// Runs a phase that may fail on one rank and not on another, and agrees on how it went; gives what it returned.
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
