// tests/emulation/runtime/traffic.h: counts how well the warps of kernels access memory: sectors of 32 bytes of global
// memory, and cycles of the 32 banks of shared memory (CUDA C++ Programming Guide, 8.3.2 and "Shared Memory" of compute
// capabilities 5 to 9).
//
// The kernels of libweft_cuda_traced.so call note_access() for each access (tests/emulation/traced/hooks.cpp). What the
// lanes of a warp access by the same instruction for the n-th time is one access of the warp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace weft::emulation {

struct Traffic {
  struct Share {
    int64_t moved = 0;   // by the accesses as they are
    int64_t needed = 0;  // by accesses of the same bytes without gaps and conflicts
  };
  Share loads, stores;  // sectors, each counted once a block: what the L2 cache moves for the L1's misses
  Share loads_at_once, stores_at_once;  // sectors, counted for each access of a warp: the work of the L1
  Share shared;                         // cycles
};

// Returns the traffic of all kernels since the process started, by name (census.h).
std::map<std::string, Traffic> traffic();

// An access of the calling thread of a kernel, by the instruction at `instruction`. Other memory is ignored.
void note_access(const void* address, size_t bytes, bool is_store, const void* instruction);

// From now on also records the device's own accesses of 16 bytes: asynchronous copies and ldmatrix.
void note_all_accesses();
void note_packet(const void* address, bool is_store);

}  // namespace weft::emulation
