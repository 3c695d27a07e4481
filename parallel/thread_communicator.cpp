// parallel/thread_communicator.cpp: runs ranks as threads of one process, for tests.
//
// Every collective is one round: each rank deposits a copy of its contribution, waits for all deposits, and computes
// its own result from them. No rank touches the memory of another rank, so a rank may leave or fail at any time.
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "parallel/collective.h"
#include "parallel/communicator.h"
#include "tensor/error.h"

namespace weft {
namespace {

struct Deposit {
  const char* call;  // all ranks of a round must make the same call with the same size
  std::vector<std::byte> bytes;
};
using Deposits = std::vector<std::shared_ptr<const Deposit>>;  // in rank order

struct World {  // all groups share it and its lock, so that a failure wakes every waiting rank
  explicit World(int size) : departed(static_cast<size_t>(size)) {}

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex);
    if (!first_error) first_error = std::move(error);
    changed.notify_all();
  }
  void depart(int world_rank) {
    const std::lock_guard lock(mutex);
    departed[static_cast<size_t>(world_rank)] = true;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::exception_ptr first_error;
  std::vector<bool> departed;  // ranks whose body has returned
};

class ThreadGroup {
 public:
  ThreadGroup(World& world, std::vector<int> members) : world_(world), members_(std::move(members)) {}
  int size() const { return static_cast<int>(members_.size()); }

  void deposit(int rank, int64_t round, const char* call, const void* data, size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    auto deposit = std::make_shared<const Deposit>(Deposit{call, {begin, begin + bytes}});
    const std::lock_guard lock(world_.mutex);
    Round& r = rounds_[round];
    r.deposits.resize(members_.size());
    r.deposits[static_cast<size_t>(rank)] = std::move(deposit);
    if (++r.arrived == size()) world_.changed.notify_all();
  }

  Deposits collect(int64_t round) {  // REQUIRES: this rank has deposited
    std::unique_lock lock(world_.mutex);
    Round& r = rounds_[round];
    world_.changed.wait(lock, [&] { return r.arrived == size() || world_.first_error || waits_for_departed(r); });
    if (r.arrived < size()) {
      fail(ErrorKind::peer, world_.first_error ? "another rank failed" : "another rank has left the group");
    }
    const Deposits deposits = r.deposits;
    if (++r.collected == size()) rounds_.erase(round);
    lock.unlock();
    check_same(deposits);
    return deposits;
  }

  // Returns the group that the split in `round` makes of `ranks`. The first member that calls it creates the group.
  std::shared_ptr<ThreadGroup> child(int64_t round, int color, const std::vector<int>& ranks) {
    const std::lock_guard lock(world_.mutex);
    std::shared_ptr<ThreadGroup>& group = children_[{round, color}];
    if (!group) {
      std::vector<int> members;
      for (int r : ranks) members.push_back(members_[static_cast<size_t>(r)]);
      group = std::make_shared<ThreadGroup>(world_, std::move(members));
    }
    return group;
  }

 private:
  struct Round {
    Deposits deposits;
    int arrived = 0, collected = 0;
  };

  bool waits_for_departed(const Round& r) const {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!r.deposits[i] && world_.departed[static_cast<size_t>(members_[i])]) return true;
    }
    return false;
  }

  static void check_same(const Deposits& deposits) {
    const Deposit& first = *deposits.front();
    for (const auto& other : deposits) {
      if (std::strcmp(first.call, other->call) == 0 && first.bytes.size() == other->bytes.size()) continue;
      fail(ErrorKind::internal, fmt::format("ranks make different calls: {} of {} bytes, and {} of {} bytes",
                                            first.call, first.bytes.size(), other->call, other->bytes.size()));
    }
  }

  World& world_;
  std::vector<int> members_;  // world ranks
  std::map<int64_t, Round> rounds_;
  std::map<std::pair<int64_t, int>, std::shared_ptr<ThreadGroup>> children_;
};

void reduce(const Deposits& deposits, ReduceOp op, const Tensor& x, size_t byte_offset = 0) {
  std::vector<const void*> parts;
  for (const auto& d : deposits) parts.push_back(d->bytes.data() + byte_offset);
  reduce_in_rank_order(op, x.dtype, parts, x.numel(), x.data);
}

void concatenate(const Deposits& deposits, const Tensor& y) {
  auto* to = static_cast<std::byte*>(y.data);
  for (const auto& d : deposits) to = std::copy(d->bytes.begin(), d->bytes.end(), to);
}

class ThreadWork : public PendingWork {
 public:
  // finish(deposits) computes this rank's result.
  ThreadWork(std::shared_ptr<ThreadGroup> group, int64_t round, std::function<void(const Deposits&)> finish)
      : group_(std::move(group)), round_(round), finish_(std::move(finish)) {}
  void poll() override {}
  void wait() override { finish_(group_->collect(round_)); }

 private:
  std::shared_ptr<ThreadGroup> group_;
  int64_t round_;
  std::function<void(const Deposits&)> finish_;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  void all_reduce(const Tensor& x, ReduceOp op) override {
    check_collective(x);
    reduce(exchange("all_reduce", x.data, x.bytes()), op, x);
  }

  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override {
    check_collective(x);
    return start("start_all_reduce", x, [x](const Deposits& deposits) { reduce(deposits, ReduceOp::sum, x); });
  }

  void all_gather(const Tensor& x, const Tensor& y) override {
    check_gather(x, y, size());
    concatenate(exchange("all_gather", x.data, x.bytes()), y);
  }

  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) override {
    check_gather(x, y, size());
    return start("start_all_gather", x, [y](const Deposits& deposits) { concatenate(deposits, y); });
  }

  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) override {
    check_gather(y, x, size());
    return start("start_reduce_scatter", x, [y, offset = static_cast<size_t>(rank_) * y.bytes()](const Deposits& all) {
      reduce(all, ReduceOp::sum, y, offset);
    });
  }

  void reduce_scatter(const Tensor& x, const Tensor& y) override {
    check_gather(y, x, size());
    reduce(exchange("reduce_scatter", x.data, x.bytes()), ReduceOp::sum, y, static_cast<size_t>(rank_) * y.bytes());
  }

  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) override {
    check_all_to_all(x, y, size());
    return start("start_all_to_all", x, [y, part = y.bytes() / static_cast<size_t>(size()), this](const Deposits& all) {
      auto* to = static_cast<std::byte*>(y.data);
      for (const auto& d : all) to = std::copy_n(d->bytes.data() + static_cast<size_t>(rank_) * part, part, to);
    });
  }

  void broadcast(const Tensor& x, int root) override {
    check_collective(x);
    const Deposits deposits = exchange("broadcast", x.data, x.bytes());
    const auto& bytes = deposits[static_cast<size_t>(root)]->bytes;
    if (rank_ != root) std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(x.data));
  }

  void barrier() override { exchange("barrier", nullptr, 0); }

  std::unique_ptr<Communicator> split(int color, int key) override {
    const int64_t round = round_;
    const int mine[2] = {color, key};
    const Deposits deposits = exchange("split", mine, sizeof mine);
    std::vector<std::pair<int, int>> members;  // (key, rank in this group) of the ranks with my color
    for (int r = 0; r < size(); ++r) {
      int theirs[2];
      std::memcpy(theirs, deposits[static_cast<size_t>(r)]->bytes.data(), sizeof theirs);
      if (theirs[0] == color) members.emplace_back(theirs[1], r);
    }
    std::sort(members.begin(), members.end());
    std::vector<int> ranks;
    for (const auto& member : members) ranks.push_back(member.second);
    const auto me = std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin();
    return std::make_unique<ThreadCommunicator>(group_->child(round, color, ranks), static_cast<int>(me));
  }

 private:
  template <typename Finish>
  std::unique_ptr<PendingWork> start(const char* call, const Tensor& x, Finish finish) {
    group_->deposit(rank_, round_, call, x.data, x.bytes());
    return std::make_unique<ThreadWork>(group_, round_++, std::move(finish));
  }

  Deposits exchange(const char* call, const void* data, size_t bytes) {
    group_->deposit(rank_, round_, call, data, bytes);
    return group_->collect(round_++);
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  int64_t round_ = 0;  // collectives started; equal on all ranks, because all ranks make the same calls
};

}  // namespace

void run_thread_ranks(int size, const std::function<void(Communicator&)>& body) {
  World world(size);
  std::vector<int> members(static_cast<size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  const auto group = std::make_shared<ThreadGroup>(world, members);
  const auto run = [&](int rank) {
    try {
      ThreadCommunicator communicator(group, rank);
      body(communicator);
      world.depart(rank);
    } catch (...) {
      world.fail(std::current_exception());
    }
  };
  {
    std::vector<std::jthread> threads;  // joined at the end of this scope, even if one cannot be started
    try {
      for (int rank = 0; rank < size; ++rank) threads.emplace_back(run, rank);
    } catch (...) {
      world.fail(std::current_exception());
    }
  }
  if (world.first_error) std::rethrow_exception(world.first_error);
}

}  // namespace weft
