// parallel/mpi/communicator.cpp: collectives over MPI, with sums in rank order.
//
// MPI leaves the order of additions in its reductions to the library, so this file only moves data with MPI
// and adds in rank order itself. Each rank receives all parts of its own chunk, sums them, and sends the sum
// to all. Everything is point-to-point and non-blocking. A tag distinguishes concurrent reductions, so ranks
// may progress them in any order.
#include <mpi.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "parallel/collective.h"
#include "parallel/mpi/check.h"
#include "parallel/mpi/session.h"
#include "tensor/error.h"

namespace weft {
namespace {

MPI_Datatype mpi_type(DType dtype) {  // MPI moves data, and adds nothing
  if (size_of(dtype) == sizeof(uint16_t)) return MPI_UINT16_T;
  return dtype == DType::f32 ? MPI_FLOAT : dtype == DType::f64 ? MPI_DOUBLE : MPI_INT32_T;
}

std::byte* at(const Tensor& x, int64_t element) {
  return static_cast<std::byte*>(x.data) + element * static_cast<int64_t>(size_of(x.dtype));
}

class Group {  // owns an MPI communicator
 public:
  Group(MPI_Comm comm, MpiLimits limits, MpiWatchdog& watchdog) : comm(comm), limits(limits), watchdog(watchdog) {
    check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  }
  ~Group() {  // freeing is collective: skipped while unwinding, when peers may not come
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // While it lives, this rank waits in a call with these bytes.
  MpiWatchdog::Wait wait(const char* name, size_t bytes) const {
    return {watchdog, {.name = name, .bytes = static_cast<int64_t>(bytes), .rank = rank, .size = size}};
  }

  // The tag of the next reduction; when it wraps around, its first user has long finished.
  int next_tag() { return next_tag_ = (next_tag_ + 1) % 32768; }  // MPI promises tags up to 32767

  MPI_Comm comm;
  const MpiLimits limits;
  MpiWatchdog& watchdog;
  int rank = 0, size = 1;

 private:
  int next_tag_ = 0;
};

class Transfers {  // messages in progress, split to fit MPI's int counts; two ranks' messages stay in order
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

// A reduction in progress: all parts of my chunk arrive and are summed, then (all-reduce) the sums are sent
// to all. It is reusable, with its scratch memory.
class Reduction {
 public:
  explicit Reduction(Group& group) : group_(group) {}

  void start_all_reduce(const Tensor& x, ReduceOp op) {
    gathers_ = true;
    exchange(x, op, [n = x.numel(), size = group_.size](int r) { return chunk_of(n, r, size); });
    out_ = at(x, chunk_of(x.numel(), group_.rank, group_.size).begin);
  }

  void start_reduce_scatter(const Tensor& x, const Tensor& y) {
    gathers_ = false;
    exchange(x, ReduceOp::sum, [n = y.numel()](int r) { return Chunk{r * n, n}; });
    out_ = y.data;
  }

  void wait() {
    const auto waiting = group_.wait(gathers_ ? "all_reduce" : "reduce_scatter", x_.bytes());
    advance(/*block=*/true);
  }
  bool advance(bool block) {
    if (exchanging_) {
      if (!transfers_.finished(block)) return false;
      exchanging_ = false;
      reduce_in_rank_order(op_, x_.dtype, parts_, own_count_, out_);
      if (gathers_) hand_round();
    }
    return transfers_.finished(block);
  }

 private:
  template <typename ChunkOf>
  void exchange(const Tensor& x, ReduceOp op, ChunkOf chunk) {
    x_ = x, op_ = op, tag_ = group_.next_tag(), exchanging_ = true;
    const Chunk own = chunk(group_.rank);
    own_count_ = own.count;
    const size_t part_bytes = static_cast<size_t>(own.count) * size_of(x.dtype);
    const size_t needed = part_bytes * static_cast<size_t>(group_.size - 1);
    if (scratch_.size() < needed) scratch_.resize(needed);
    parts_.assign(static_cast<size_t>(group_.size), at(x, own.begin));
    std::byte* scratch = scratch_.data();
    for (int i = 1; i < group_.size; ++i, scratch += part_bytes) {
      const int peer = (group_.rank + i) % group_.size;
      parts_[static_cast<size_t>(peer)] = scratch;
      transfers_.receive(group_, scratch, own.count, x.dtype, peer, tag_);
    }
    for (int i = 1; i < group_.size; ++i) {  // each rank starts with another peer, so that none is flooded
      const int peer = (group_.rank + i) % group_.size;
      const Chunk theirs = chunk(peer);
      transfers_.send(group_, at(x, theirs.begin), theirs.count, x.dtype, peer, tag_);
    }
  }

  void hand_round() {
    for (int i = 1; i < group_.size; ++i) {
      const int peer = (group_.rank + i) % group_.size;
      const Chunk theirs = chunk_of(x_.numel(), peer, group_.size);
      transfers_.receive(group_, at(x_, theirs.begin), theirs.count, x_.dtype, peer, tag_);
    }
    for (int i = 1; i < group_.size; ++i) {
      transfers_.send(group_, out_, own_count_, x_.dtype, (group_.rank + i) % group_.size, tag_);
    }
  }

  Group& group_;
  Transfers transfers_;
  Tensor x_;
  ReduceOp op_ = ReduceOp::sum;
  void* out_ = nullptr;  // destination of my chunk's sum
  int64_t own_count_ = 0;
  int tag_ = 0;
  bool exchanging_ = false, gathers_ = false;
  std::vector<const void*> parts_;  // of my chunk, in rank order
  std::vector<std::byte> scratch_;
};

using Reductions = std::vector<std::unique_ptr<Reduction>>;

class MpiWork : public PendingWork {
 public:
  MpiWork(std::unique_ptr<Reduction> reduction, Reductions& idle) : reduction_(std::move(reduction)), idle_(idle) {}
  ~MpiWork() override {
    // Abandoned while an exception unwinds. MPI may still write to the scratch memory, so it is never freed.
    if (reduction_) static_cast<void>(reduction_.release());
  }
  void poll() override {
    if (reduction_ && reduction_->advance(/*block=*/false)) idle_.push_back(std::move(reduction_));
  }
  void wait() override {
    if (!reduction_) return;
    reduction_->wait();
    idle_.push_back(std::move(reduction_));
  }

 private:
  std::unique_ptr<Reduction> reduction_;  // empty when done
  Reductions& idle_;
};

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, MpiLimits limits, MpiWatchdog& watchdog) : group_(comm, limits, watchdog) {}
  int rank() const override { return group_.rank; }
  int size() const override { return group_.size; }

  void all_reduce(const Tensor& x, ReduceOp op) override {
    check_collective(x);
    if (x.numel() <= group_.limits.small_reduce) return all_reduce_small(x, op);
    std::unique_ptr<Reduction> reduction = take_reduction();
    reduction->start_all_reduce(x, op);
    MpiWork(std::move(reduction), idle_).wait();
  }

  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override {
    check_collective(x);
    std::unique_ptr<Reduction> reduction = take_reduction();
    reduction->start_all_reduce(x, ReduceOp::sum);
    return std::make_unique<MpiWork>(std::move(reduction), idle_);
  }

  void reduce_scatter(const Tensor& x, const Tensor& y) override {
    check_gather(y, x, size());
    std::unique_ptr<Reduction> reduction = take_reduction();
    reduction->start_reduce_scatter(x, y);
    MpiWork(std::move(reduction), idle_).wait();
  }

  void all_gather(const Tensor& x, const Tensor& y) override {
    check_gather(x, y, size());
    if (y.numel() <= group_.limits.message) return gather_at_once(x, y.data);
    const auto waiting = group_.wait("all_gather", y.bytes());
    Transfers transfers;
    const int tag = group_.next_tag();
    std::memcpy(at(y, rank() * x.numel()), x.data, x.bytes());
    for (int i = 1; i < size(); ++i) {
      const int peer = (rank() + i) % size();
      transfers.receive(group_, at(y, peer * x.numel()), x.numel(), x.dtype, peer, tag);
    }
    for (int i = 1; i < size(); ++i) transfers.send(group_, x.data, x.numel(), x.dtype, (rank() + i) % size(), tag);
    transfers.finished(true);
  }

  void broadcast(const Tensor& x, int root) override {
    check_collective(x);
    const auto waiting = group_.wait("broadcast", x.bytes());
    for_each_piece(x.numel(), group_.limits.message, [&](int64_t begin, int64_t n) {
      check_mpi(MPI_Bcast(at(x, begin), static_cast<int>(n), mpi_type(x.dtype), root, group_.comm), "MPI_Bcast");
    });
  }

  void barrier() override {
    const auto waiting = group_.wait("barrier", 0);
    check_mpi(MPI_Barrier(group_.comm), "MPI_Barrier");
  }

  void set_step(int64_t step) override { group_.watchdog.set_step(step); }
  double seconds_waited() const override { return group_.watchdog.seconds_waited(); }
  void limit_waits(double seconds, const std::string& folder) override {
    group_.watchdog.limit(std::chrono::milliseconds(std::llround(1000 * seconds)), folder);
  }

  std::unique_ptr<Communicator> split(int color, int key) override {
    const auto waiting = group_.wait("split", 0);
    MPI_Comm part;
    check_mpi(MPI_Comm_split(group_.comm, color, key, &part), "MPI_Comm_split");
    return std::make_unique<MpiCommunicator>(part, group_.limits, group_.watchdog);
  }

  std::unique_ptr<Communicator> split_by_host() override {  // hosts: ranks that can share memory
    const auto waiting = group_.wait("split_by_host", 0);
    MPI_Comm part;
    check_mpi(MPI_Comm_split_type(group_.comm, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &part),
              "MPI_Comm_split_type");
    return std::make_unique<MpiCommunicator>(part, group_.limits, group_.watchdog);
  }

 private:
  void gather_at_once(const Tensor& x, void* all) {
    const auto waiting = group_.wait("all_gather", x.bytes() * static_cast<size_t>(size()));
    const int count = static_cast<int>(x.numel());
    check_mpi(MPI_Allgather(x.data, count, mpi_type(x.dtype), all, count, mpi_type(x.dtype), group_.comm),
              "MPI_Allgather");
  }

  // For latency: one collective instead of two rounds of messages.
  void all_reduce_small(const Tensor& x, ReduceOp op) {
    const size_t needed = x.bytes() * static_cast<size_t>(size());
    if (gathered_.size() < needed) gathered_.resize(needed);
    gather_at_once(x, gathered_.data());
    parts_.clear();
    for (int r = 0; r < size(); ++r) parts_.push_back(gathered_.data() + static_cast<size_t>(r) * x.bytes());
    reduce_in_rank_order(op, x.dtype, parts_, x.numel(), x.data);
  }

  std::unique_ptr<Reduction> take_reduction() {
    if (idle_.empty()) return std::make_unique<Reduction>(group_);
    std::unique_ptr<Reduction> reduction = std::move(idle_.back());
    idle_.pop_back();
    return reduction;
  }

  Group group_;
  Reductions idle_;
  std::vector<std::byte> gathered_;
  std::vector<const void*> parts_;
};

}  // namespace

std::unique_ptr<Communicator> MpiSession::world(MpiLimits limits) const {
  MPI_Comm copy;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(copy, limits, *watchdog_);
}

}  // namespace weft
