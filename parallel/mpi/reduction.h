// parallel/mpi/reduction.h: computes a sum or maximum over a group.
//
// MPI libraries may add in any order, so Reduction only moves data with MPI and adds in rank order itself. Each rank
// receives all parts of its own chunk, sums them, and, in an all-reduce, sends the sum to all ranks. All messages are
// point-to-point and non-blocking. A tag distinguishes concurrent reductions, so ranks may advance them in any order.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "parallel/mpi/group.h"
#include "tensor/tensor.h"

namespace weft {

class Reduction {  // reusable, with its scratch memory
 public:
  explicit Reduction(Group& group) : group_(group) {}
  // Reduces in two levels: first among the ranks of a host, then across the hosts, chunk by chunk. With H hosts of any
  // number of ranks, a host sends 2 (H - 1) / H times the tensor in an all-reduce, and half as much in a
  // reduce-scatter. Sums are added in host order. `order` is Hosts::order (communicator.cpp).
  Reduction(Group& of_host, Group& across, std::span<const int> order)
      : group_(of_host), across_(std::make_unique<Reduction>(across)), order_(order) {}

  void start_all_reduce(const Tensor& x, ReduceOp op) { start_all_reduce(x, op, group_.next_tag()); }
  void start_reduce_scatter(const Tensor& x, const Tensor& y);  // y may be this rank's slice of x
  bool advance(bool block);                                     // returns true when it is finished
  const char* name() const { return gathers_ ? "all_reduce" : "reduce_scatter"; }
  size_t bytes() const { return x_.bytes(); }

 private:
  // Both levels use the tag chosen at the start, because ranks may reach the second level in different orders.
  void start_all_reduce(const Tensor& x, ReduceOp op, int tag);
  void start_reduce_scatter(const Tensor& x, const Tensor& y, int tag);
  void exchange_in_host();
  template <typename ChunkOf>
  void exchange(const Tensor& x, ReduceOp op, int tag, ChunkOf chunk);
  void hand_round();

  Group& group_;
  std::unique_ptr<Reduction> across_;
  std::span<const int> order_;
  Transfers transfers_;
  Tensor x_, y_;  // y_: only for a reduce-scatter
  ReduceOp op_ = ReduceOp::sum;
  void* out_ = nullptr;  // destination of my chunk's sum
  int64_t own_count_ = 0;
  int tag_ = 0;
  enum class Stage { exchange, across, hand_round } stage_ = Stage::exchange;
  bool gathers_ = false;
  std::vector<const void*> parts_;  // parts of my chunk, in rank order
  std::vector<std::byte> scratch_;
};

}  // namespace weft
