// parallel/mpi/gathering.h: runs an all-gather or all-to-all over a group. All messages are point-to-point and
// non-blocking.
#pragma once

#include <span>

#include "parallel/mpi/group.h"
#include "tensor/tensor.h"

namespace weft {

class Gathering {  // reusable
 public:
  explicit Gathering(Group& group) : host_(group) {}
  // Gathers in two levels: first across hosts, among the ranks with the same place in their hosts, then within each
  // host. So each rank's part is sent only once to every other host. `order` is Hosts::order (communicator.cpp).
  Gathering(Group& of_host, Group& across, std::span<const int> order)
      : host_(of_host), across_(&across), order_(order) {}

  void start(const Tensor& x, const Tensor& y);             // y [size, ...x]; x may be this rank's slice of y
  void start_all_to_all(const Tensor& x, const Tensor& y);  // in one level
  bool advance(bool block);                                 // returns true when it is finished
  const char* name() const { return name_; }
  size_t bytes() const { return y_.bytes(); }

 private:
  int hosts() const { return across_ != nullptr ? across_->size : 1; }
  int rank_at(int place, int host) const { return order_.empty() ? place : order_[place * hosts() + host]; }
  std::byte* part_of(int place, int host) const { return at(y_, rank_at(place, host) * part_); }
  void hand_round();

  Group& host_;
  Group* across_ = nullptr;
  std::span<const int> order_;
  Transfers transfers_;
  Tensor y_;
  int64_t part_ = 0;  // elements per rank
  int tag_ = 0;
  bool in_host_ = false;  // true in the last stage
  const char* name_ = "";
};

}  // namespace weft
