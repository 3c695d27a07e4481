// parallel/mpi/communicator.cpp: implements collectives over MPI, with sums in rank order (parallel/mpi/reduction.h).
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "parallel/collective.h"
#include "parallel/mpi/check.h"
#include "parallel/mpi/gathering.h"
#include "parallel/mpi/reduction.h"
#include "parallel/mpi/session.h"
#include "tensor/error.h"

namespace weft {
namespace {

template <typename Operation>
using Idle = std::vector<std::unique_ptr<Operation>>;

template <typename Operation>  // Reduction or Gathering
class MpiWork : public PendingWork {
 public:
  MpiWork(const Group& group, std::unique_ptr<Operation> operation, Idle<Operation>& idle)
      : group_(group), operation_(std::move(operation)), idle_(idle) {}
  ~MpiWork() override {
    // If an exception abandons the work, MPI may still write to the scratch memory, so this memory is never freed.
    if (operation_) static_cast<void>(operation_.release());
  }
  void poll() override {
    if (operation_ && operation_->advance(/*block=*/false)) idle_.push_back(std::move(operation_));
  }
  void wait() override {
    if (!operation_) return;
    const auto waiting = group_.wait(operation_->name(), operation_->bytes());
    operation_->advance(/*block=*/true);
    idle_.push_back(std::move(operation_));
  }

 private:
  const Group& group_;
  std::unique_ptr<Operation> operation_;  // null when done
  Idle<Operation>& idle_;
};

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, MpiLimits limits, MpiWatchdog& watchdog) : group_(comm, limits, watchdog) {}
  int rank() const override { return group_.rank; }
  int size() const override { return group_.size; }

  void all_reduce(const Tensor& x, ReduceOp op) override {
    check_collective(x);
    if (x.numel() <= group_.limits.small_reduce) return all_reduce_small(x, op);
    started_all_reduce(x, op)->wait();
  }

  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override {
    check_collective(x);
    return started_all_reduce(x, ReduceOp::sum);
  }

  void reduce_scatter(const Tensor& x, const Tensor& y) override { start_reduce_scatter(x, y)->wait(); }

  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) override {
    check_gather(y, x, size());
    return start(sums_in_levels(x), [&](Reduction& reduction) { reduction.start_reduce_scatter(x, y); });
  }

  void all_gather(const Tensor& x, const Tensor& y) override {
    check_gather(x, y, size());
    if (y.numel() <= group_.limits.message) return gather_at_once(x, y.data);
    start_all_gather(x, y)->wait();
  }

  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) override {
    check_gather(x, y, size());
    find_hosts();
    Idle<Gathering>& idle = hosts_ ? hosts_->gatherings : gatherings_;
    std::unique_ptr<Gathering> gathering = take(idle, [&] {
      return hosts_ ? std::make_unique<Gathering>(hosts_->own, hosts_->across, hosts_->order)
                    : std::make_unique<Gathering>(group_);
    });
    gathering->start(x, y);
    return std::make_unique<MpiWork<Gathering>>(group_, std::move(gathering), idle);
  }

  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) override {
    check_all_to_all(x, y, size());
    std::unique_ptr<Gathering> exchange = take(gatherings_, [&] { return std::make_unique<Gathering>(group_); });
    exchange->start_all_to_all(x, y);
    return std::make_unique<MpiWork<Gathering>>(group_, std::move(exchange), gatherings_);
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

  std::unique_ptr<Communicator> split_by_host() override {  // a host is a set of ranks that can share memory
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

  // Uses one collective instead of two rounds of messages, to reduce latency.
  void all_reduce_small(const Tensor& x, ReduceOp op) {
    const size_t needed = x.bytes() * static_cast<size_t>(size());
    if (gathered_.size() < needed) gathered_.resize(needed);
    gather_at_once(x, gathered_.data());
    parts_.clear();
    for (int r = 0; r < size(); ++r) parts_.push_back(gathered_.data() + static_cast<size_t>(r) * x.bytes());
    reduce_in_rank_order(op, x.dtype, parts_, x.numel(), x.data);
  }

  std::unique_ptr<PendingWork> started_all_reduce(const Tensor& x, ReduceOp op) {
    return start(sums_in_levels(x), [&](Reduction& reduction) { reduction.start_all_reduce(x, op); });
  }

  bool sums_in_levels(const Tensor& x) {
    find_hosts();
    return hosts_ && size_of(x.dtype) > sizeof(uint16_t);  // two levels would round 16-bit sums twice
  }

  template <typename Begin>
  std::unique_ptr<PendingWork> start(bool in_levels, const Begin& begin) {
    Idle<Reduction>& idle = in_levels ? hosts_->reductions : reductions_;
    std::unique_ptr<Reduction> reduction = take(idle, [&] {
      return in_levels ? std::make_unique<Reduction>(hosts_->own, hosts_->across, hosts_->order)
                       : std::make_unique<Reduction>(group_);
    });
    begin(*reduction);
    return std::make_unique<MpiWork<Reduction>>(group_, std::move(reduction), idle);
  }

  template <typename Operation, typename Make>
  static std::unique_ptr<Operation> take(Idle<Operation>& idle, const Make& make) {
    if (idle.empty()) return make();
    std::unique_ptr<Operation> operation = std::move(idle.back());
    idle.pop_back();
    return operation;
  }

  // Runs at the first large collective. Two levels need several hosts with equal numbers of ranks, at least 2 per host.
  void find_hosts() {
    if (looked_for_hosts_) return;
    looked_for_hosts_ = true;
    if (size() < 4) return;
    const auto waiting = group_.wait("split_by_host", 0);
    const int pretended = group_.limits.ranks_of_a_host;
    MPI_Comm own, across;
    check_mpi(pretended > 0 ? MPI_Comm_split(group_.comm, rank() / pretended, rank(), &own)
                            : MPI_Comm_split_type(group_.comm, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &own),
              "MPI_Comm_split");
    int place = 0, ranks = 0;
    check_mpi(MPI_Comm_rank(own, &place), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(own, &ranks), "MPI_Comm_size");
    std::vector<int> of_ranks(static_cast<size_t>(size()));
    check_mpi(MPI_Allgather(&ranks, 1, MPI_INT, of_ranks.data(), 1, MPI_INT, group_.comm), "MPI_Allgather");
    const bool equal = std::ranges::count(of_ranks, ranks) == size();
    if (!equal || ranks == 1 || ranks == size()) {
      check_mpi(MPI_Comm_free(&own), "MPI_Comm_free");
      return;
    }
    check_mpi(MPI_Comm_split(group_.comm, place, rank(), &across), "MPI_Comm_split");
    hosts_.emplace(own, across, group_);
    const std::array<int, 2> mine = {place, hosts_->across.rank};
    std::vector<std::array<int, 2>> all(static_cast<size_t>(size()));
    check_mpi(MPI_Allgather(mine.data(), 2, MPI_INT, all.data(), 2, MPI_INT, group_.comm), "MPI_Allgather");
    hosts_->order.resize(all.size());
    for (int r = 0; r < size(); ++r) {
      const auto [at_place, host] = all[static_cast<size_t>(r)];
      hosts_->order[static_cast<size_t>(at_place * hosts_->across.size + host)] = r;
    }
  }

  struct Hosts {
    Hosts(MPI_Comm own, MPI_Comm across, const Group& all)
        : own(own, all.limits, all.watchdog), across(across, all.limits, all.watchdog) {}
    Group own, across;       // this host's ranks; the ranks at this rank's place in each host
    std::vector<int> order;  // the ranks, by place and then by host
    Idle<Reduction> reductions;
    Idle<Gathering> gatherings;
  };

  Group group_;
  bool looked_for_hosts_ = false;
  std::optional<Hosts> hosts_;
  Idle<Reduction> reductions_;
  Idle<Gathering> gatherings_;
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
