// tests/emulation/ptx/memory.h: the memory that a block accesses. Each access must be aligned and within its variable's
// space; accesses of shared memory by several threads must be ordered by barriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/emulation/ptx/program.h"
#include "tests/emulation/ptx/shared_races.h"
#include "tests/emulation/runtime/random.h"

namespace weft::emulation::ptx {

// Initialized variables of a module, which all its kernels share.
class Globals {
 public:
  explicit Globals(const std::vector<Variable>& variables);
  const std::byte* find(const std::string& name) const;  // nullptr if there is no such variable
  std::span<const std::byte> around(uint64_t address) const;

 private:
  std::map<std::string, std::vector<std::byte>> variables_;
};

// Returns the allocation of device memory that contains an address; empty if there is none.
using Allocations = std::function<std::span<const std::byte>(uint64_t address)>;

// An asynchronous copy of 16 bytes to shared memory (PTX ISA, cp.async).
struct AsyncCopy {
  uint64_t to = 0;
  const std::byte* from = nullptr;  // nullptr: zeros
  int64_t group = 0;
  bool is_late = false;  // made when it is awaited
};

enum class CopyTime : uint8_t { early, late, random };  // when asynchronous copies are made

class BlockMemory {
 public:
  struct Setup {
    size_t dynamic_shared_bytes = 0;
    int num_threads = 0;
    std::span<const std::byte> params;  // the kernel's arguments, as PTX lays them out
    const Globals* globals = nullptr;
    const Allocations* allocations = nullptr;
    CopyTime copies = CopyTime::random;
    uint64_t seed = 0;
  };
  BlockMemory(const Program& program, const Setup& setup);

  void start_block();
  void pass_barrier() { races_.pass_barrier(); }

  // Returns where the bytes are, after all checks. Throws an Error that names the line.
  std::byte* load(Space space, uint64_t address, size_t bytes, const Access& access) {
    if (space == Space::global && is_recent(address, bytes, access)) return reinterpret_cast<std::byte*>(address);
    std::byte* const data = find(space, address, bytes, access);
    if (is_shared(data)) races_.load(static_cast<size_t>(data - shared_.data()), bytes, access);
    return data;
  }
  std::byte* store(Space space, uint64_t address, size_t bytes, const Access& access) {
    if (space == Space::global && is_recent(address, bytes, access)) return reinterpret_cast<std::byte*>(address);
    std::byte* const data = find(space, address, bytes, access);
    if (is_shared(data)) races_.store(static_cast<size_t>(data - shared_.data()), bytes, access);
    return data;
  }

  void copy(uint64_t to, uint64_t from, bool exists, const Access& access);
  void end_copy_group(int thread) { ++groups_[static_cast<size_t>(thread)]; }
  void await_copies(int left, const Access& access);  // all groups of the thread but the last `left` ones

 private:
  static constexpr size_t kRecent = 64;
  struct Range {
    uint64_t begin = 0, bytes = 0;
    bool contains(uint64_t address, size_t count) const {
      return address - begin < bytes && count <= bytes - (address - begin);
    }
  };
  bool is_recent(uint64_t address, size_t bytes, const Access& access) const {
    return address % bytes == 0 && recent_[static_cast<size_t>(access.line) % kRecent].contains(address, bytes);
  }
  bool is_shared(const std::byte* data) const { return static_cast<size_t>(data - shared_.data()) < shared_.size(); }
  std::byte* find(Space space, uint64_t address, size_t bytes, const Access& access);
  std::byte* in_global(uint64_t address, size_t bytes, const Access& access);
  void finish(const AsyncCopy& copy);

  const Program& program_;
  Setup setup_;
  std::vector<std::byte> shared_, local_;
  SharedRaces races_;
  std::array<Range, kRecent> recent_{};         // allocations, by line
  std::vector<std::vector<AsyncCopy>> copies_;  // by thread, with their groups
  std::vector<int64_t> groups_;
  Random random_;
};

}  // namespace weft::emulation::ptx
