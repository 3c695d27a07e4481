// tests/emulation/machine/intrinsics.cpp: barriers and warp intrinsics as rendezvous of threads.
#include <cuda_runtime.h>

#include "tests/emulation/machine/executor.h"

namespace weft::emulation {
namespace {

struct Ballot {
  bool predicate;
  unsigned result;
};
void count_votes(unsigned mask, void* const deposits[kWarpSize]) {
  unsigned votes = 0;
  for (int i = 0; i < kWarpSize; ++i)
    if ((mask >> i & 1u) != 0 && static_cast<Ballot*>(deposits[i])->predicate) votes |= 1u << i;
  for (int i = 0; i < kWarpSize; ++i)
    if ((mask >> i & 1u) != 0) static_cast<Ballot*>(deposits[i])->result = votes;
}

struct Shuffled {
  uint64_t bits, result;
  int source;
};
void move_values(unsigned mask, void* const deposits[kWarpSize]) {
  for (int i = 0; i < kWarpSize; ++i) {
    if ((mask >> i & 1u) == 0) continue;
    auto* const mine = static_cast<Shuffled*>(deposits[i]);
    const auto* const from = static_cast<const Shuffled*>(deposits[mine->source]);
    mine->result = from == nullptr ? ~uint64_t{0} : from->bits;  // a lane outside the mask gives NaN
  }
}

// Source lane of `lane`, as defined for the PTX instruction: warps are divided into segments of `width`
// lanes.
int source_of(Shuffle kind, int lane, unsigned argument, int width) {
  const int first = lane & ~(width - 1), last = first + width - 1;
  switch (kind) {
    case Shuffle::index:
      return first + static_cast<int>(argument & static_cast<unsigned>(width - 1));
    case Shuffle::up:
      return argument > static_cast<unsigned>(lane - first) ? lane : lane - static_cast<int>(argument);
    case Shuffle::down:
      return argument > static_cast<unsigned>(last - lane) ? lane : lane + static_cast<int>(argument);
    case Shuffle::exclusive_or:
      break;
  }
  const int other = lane ^ static_cast<int>(argument & 31u);
  return other > last ? lane : other;
}

constexpr const char* kShuffleNames[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"};

void nothing(unsigned, void* const*) {}

}  // namespace

uint64_t shuffle(Shuffle kind, unsigned mask, uint64_t bits, unsigned argument, int width, Place where) {
  Executor& executor = Executor::running();
  Shuffled mine{bits, 0, source_of(kind, executor.lane(), argument, width)};
  executor.meet(mask, &mine, move_values, kShuffleNames[static_cast<int>(kind)], where);
  return mine.result;
}

unsigned ballot(unsigned mask, bool predicate, Place where) {
  Ballot mine{predicate, 0};
  Executor::running().meet(mask, &mine, count_votes, "a vote", where);
  return mine.result;
}

}  // namespace weft::emulation

void __syncthreads(weft::emulation::Place where) { weft::emulation::Executor::running().synchronize_threads(where); }

void __syncwarp(unsigned mask, weft::emulation::Place where) {
  weft::emulation::Executor::running().meet(mask, nullptr, weft::emulation::nothing, "__syncwarp", where);
}
