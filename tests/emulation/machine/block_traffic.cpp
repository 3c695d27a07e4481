// tests/emulation/machine/block_traffic.cpp: what an access of a warp moves, by the rules of the hardware.
#include "tests/emulation/machine/block_traffic.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>

#include "tests/emulation/machine/executor.h"
#include "tests/emulation/machine/machine.h"
#include "tests/emulation/runtime/kernel_names.h"

namespace weft::emulation {
namespace {

constexpr uintptr_t kSector = 32, kWord = 4;  // bytes
constexpr uintptr_t kBanks = 32;              // each has every 32nd word, and one word a cycle

struct Sums {
  std::mutex mutex;
  std::map<const void*, Traffic> by_kernel;
};
Sums& sums() {
  static auto* const all = new Sums;
  return *all;
}

int64_t divided_up(size_t n, uintptr_t by) { return static_cast<int64_t>((n + by - 1) / by); }

void add(Traffic::Share& to, const Traffic::Share& share) { to.moved += share.moved, to.needed += share.needed; }

}  // namespace

Traffic::Share BlockTraffic::sectors(const std::vector<Access>& lanes) {
  std::set<uintptr_t> sectors, bytes;
  for (const Access& access : lanes)
    for (uintptr_t at = access.address; at < access.address + access.bytes; ++at)
      bytes.insert(at), sectors.insert(at / kSector);
  return {static_cast<int64_t>(sectors.size()), divided_up(bytes.size(), kSector)};
}

// A cycle serves all lanes of accesses of up to 4 bytes, 16 neighbours of 8 bytes, 8 of 16 bytes.
Traffic::Share BlockTraffic::bank_cycles(const std::vector<Access>& lanes) {
  size_t widest = kWord;
  for (const Access& access : lanes) widest = std::max(widest, access.bytes);
  const size_t at_once = kBanks * kWord / widest;
  Traffic::Share share;
  for (size_t first = 0; first < kWarpSize; first += at_once) {
    std::set<uintptr_t> words;
    for (const Access& access : lanes) {
      if (static_cast<size_t>(access.lane) / at_once != first / at_once) continue;
      for (uintptr_t word = access.address / kWord; word * kWord < access.address + access.bytes; ++word)
        words.insert(word);
    }
    if (words.empty()) continue;
    std::array<int64_t, kBanks> of_bank{};
    for (const uintptr_t word : words) ++of_bank[word % kBanks];
    share.moved += *std::max_element(of_bank.begin(), of_bank.end());
    share.needed += divided_up(words.size(), kBanks);
  }
  return share;
}

void BlockTraffic::note(int warp, const void* instruction, Kind kind, Access access) {
  const int64_t time = times_[{warp, access.lane, instruction, kind}]++;
  accesses_[{warp, instruction, kind, time}].push_back(access);
}

void BlockTraffic::finish(const void* kernel) {
  if (accesses_.empty()) return;
  Traffic block;
  std::vector<Access> loads, stores;
  for (const auto& [key, lanes] : accesses_) {
    const Kind kind = std::get<Kind>(key);
    if (kind == Kind::shared) {
      add(block.shared, bank_cycles(lanes));
    } else {
      add(kind == Kind::load ? block.loads_at_once : block.stores_at_once, sectors(lanes));
      std::vector<Access>& all = kind == Kind::load ? loads : stores;
      all.insert(all.end(), lanes.begin(), lanes.end());
    }
  }
  block.loads = sectors(loads), block.stores = sectors(stores);
  times_.clear();
  accesses_.clear();
  const std::scoped_lock lock(sums().mutex);
  Traffic& sum = sums().by_kernel[kernel];
  for (Traffic::Share Traffic::*share :
       {&Traffic::loads, &Traffic::stores, &Traffic::loads_at_once, &Traffic::stores_at_once, &Traffic::shared})
    add(sum.*share, block.*share);
}

std::map<std::string, Traffic> traffic() {
  const std::scoped_lock lock(sums().mutex);
  std::map<std::string, Traffic> named;
  for (const auto& [kernel, sum] : sums().by_kernel) named[kernel_name(kernel)] = sum;
  return named;
}

void note_access(const void* address, size_t bytes, bool is_store, const void* instruction) {
  Executor::note_access(address, bytes, is_store, instruction);
}

}  // namespace weft::emulation
