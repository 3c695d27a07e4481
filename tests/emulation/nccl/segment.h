// tests/emulation/nccl/segment.h: shared memory of the ranks of an emulated NCCL communicator, found by the
// unique id. Ranks are threads or processes of one machine.
//
// Nothing blocks. Each rank counts its stages and reads the others' counts.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::emulation {

inline constexpr int kMaxRanks = 16;
inline constexpr size_t kDepositBytes = 64 << 10;

enum class Kind : int { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all };

struct Call {  // a rank's collective call; must be the same on all ranks
  Kind kind = Kind::all_reduce;
  int type = 0, op = 0, root = 0;
  uint64_t count = 0;
  bool is_recorded = false;  // in a graph, which NCCL requires of all ranks or of none
  bool operator==(const Call&) const = default;
};

struct RankState {  // initially zero, like fresh shared memory
  std::atomic<uint64_t> stage;
  std::atomic<int> num_ranks;  // size of the communicator on this rank; 0: not connected yet
  std::atomic<bool> left;
  int device;
  char host[64];
  Call call;
};

class Segment {
 public:
  static std::string create();                // returns the name
  explicit Segment(const std::string& name);  // throws std::runtime_error if there is none
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  void unlink() const;  // all ranks have opened it

  RankState& rank(int index) const { return shared_->ranks[index]; }
  std::byte* deposit(int index) const { return shared_->deposits[index]; }

 private:
  struct Shared {
    RankState ranks[kMaxRanks];
    alignas(64) std::byte deposits[kMaxRanks][kDepositBytes];
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);  // required between processes

  std::string name_;
  Shared* shared_ = nullptr;
};

}  // namespace weft::emulation
