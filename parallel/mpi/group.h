// parallel/mpi/group.h: wraps an MPI communicator, and messages between its ranks.
#pragma once

#include <mpi.h>

#include <exception>
#include <vector>

#include "parallel/collective.h"
#include "parallel/mpi/check.h"
#include "parallel/mpi/session.h"

namespace weft {

inline MPI_Datatype mpi_type(DType dtype) {  // MPI only moves data; it adds nothing
  if (size_of(dtype) == sizeof(uint16_t)) return MPI_UINT16_T;
  return dtype == DType::f32 ? MPI_FLOAT : dtype == DType::f64 ? MPI_DOUBLE : MPI_INT32_T;
}

inline std::byte* at(const Tensor& x, int64_t element) {
  return static_cast<std::byte*>(x.data) + element * static_cast<int64_t>(size_of(x.dtype));
}

class Group {  // owns an MPI communicator
 public:
  Group(MPI_Comm comm, MpiLimits limits, MpiWatchdog& watchdog) : comm(comm), limits(limits), watchdog(watchdog) {
    check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  }
  ~Group() {  // freeing is collective, so an exception skips it, because peers may not arrive
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Marks this rank as waiting in the call `name`. Destroying the returned object removes the mark.
  MpiWatchdog::Wait wait(const char* name, size_t bytes) const {
    return {watchdog, {.name = name, .bytes = static_cast<int64_t>(bytes), .rank = rank, .size = size}};
  }

  // Returns the tag of the next operation. When tags wrap around, earlier operations have long finished.
  int next_tag() { return next_tag_ = (next_tag_ + 1) % 32768; }  // MPI promises tags up to 32767

  MPI_Comm comm;
  const MpiLimits limits;
  MpiWatchdog& watchdog;
  int rank = 0, size = 1;

 private:
  int next_tag_ = 0;
};

class Transfers {  // messages in progress, split to fit MPI's int counts; messages between two ranks stay in order
 public:
  void send(const Group& group, const void* data, int64_t count, DType dtype, int to, int tag) {
    for_each_piece(count, group.limits.message, [&](int64_t begin, int64_t n) {
      const auto* from = static_cast<const std::byte*>(data) + begin * static_cast<int64_t>(size_of(dtype));
      check_mpi(MPI_Isend(from, static_cast<int>(n), mpi_type(dtype), to, tag, group.comm, next()), "MPI_Isend");
    });
  }
  void receive(const Group& group, void* data, int64_t count, DType dtype, int from, int tag) {
    for_each_piece(count, group.limits.message, [&](int64_t begin, int64_t n) {
      auto* to = static_cast<std::byte*>(data) + begin * static_cast<int64_t>(size_of(dtype));
      check_mpi(MPI_Irecv(to, static_cast<int>(n), mpi_type(dtype), from, tag, group.comm, next()), "MPI_Irecv");
    });
  }
  bool finished(bool block) {
    int done = 1;
    const int count = static_cast<int>(requests_.size());
    if (block) {
      check_mpi(MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    } else {
      check_mpi(MPI_Testall(count, requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    }
    if (done) requests_.clear();
    return done != 0;
  }

 private:
  MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  std::vector<MPI_Request> requests_;
};

}  // namespace weft
