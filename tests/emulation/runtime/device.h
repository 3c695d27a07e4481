// tests/emulation/runtime/device.h: the emulated device's interface for the replacements of CUDA's libraries
// (cuBLASLt, NCCL, the mma wrapper) and for tests.
//
// The device is one shared library, libweft_emulation.so; modules with kernels link it in place of cudart.
// Environment variables configure it: WEFT_EMULATION_DEVICES (number of devices, 1), WEFT_EMULATION_MEMORY
// (bytes of each, 8 GiB), WEFT_EMULATION_SEED (seed of all orders, 1).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>

#include "tests/emulation/runtime/census.h"

namespace weft::emulation {

// ---- work on streams, executed by the host's processor like a GPU's work: asynchronously, in the stream's order

enum class Reach { device, all_devices };  // device memory that a job may access: that of its stream's device, or all

// Runs `job` in the stream's order, with device memory accessible. A graph keeps it and runs it again. Its
// exceptions become the device's error, like a kernel's fault. It counts as `counted` (census.h).
cudaError_t enqueue(cudaStream_t stream, std::function<void()> job, Reach reach = Reach::device, Counted counted = {});

// The same for work that depends on other ranks, such as a collective: while it is the first of its stream,
// `poll` is called until it returns true; other streams continue meanwhile. A graph's next launch calls it
// again.
cudaError_t enqueue_polled(cudaStream_t stream, std::function<bool()> poll, Reach reach = Reach::all_devices,
                           Counted counted = {});

// Runs one item of any device's work; false if none can run. Streams advance only while a thread waits for
// one: code that waits for another process by other means must call this meanwhile.
bool advance();

// ---- memory

// Whether all of it is in one live allocation of device memory (of `device`, if given).
bool is_device_memory(const void* data, size_t bytes, int device = -1);
bool is_pinned_memory(const void* data, size_t bytes);  // from cudaMallocHost, cudaHostAlloc

// ---- errors

// Stores the details for cudaGetErrorString(status) on the calling thread; returns `status`.
cudaError_t report(cudaError_t status, std::string detail);

// ---- the lanes of a warp, for device code

inline constexpr int kWarpSize = 32;

int lane();  // of the calling thread

// ---- asynchronous copies to shared memory, of the calling thread

struct LateCopy {
  void* to;
  const void* from;  // nullptr: zeros
  size_t bytes;
};
void copy_later(const LateCopy& copy);
void end_copy_group();
void await_copies(int left);  // all groups but the last `left` ones

// Rendezvous of the lanes in `mask`: each contributes a pointer; the last one calls `meeting` once with all
// of them (nullptr: not in `mask`), then all continue. All lanes pass the same function; `what` and `where`
// are for messages.
using Meeting = void (*)(unsigned mask, void* const deposits[kWarpSize]);
void meet(unsigned mask, void* deposit, Meeting meeting, const char* what, std::source_location where);

// meet() with a function of the lanes' values: warp_meet<multiply_tiles>(mask, mine, "mma"), void
// multiply_tiles(unsigned mask, Tile* const lanes[32]).
template <auto function, typename T>
void warp_meet(unsigned mask, T& mine, const char* what, std::source_location where = std::source_location::current()) {
  constexpr Meeting meeting = [](unsigned present, void* const* deposits) {
    T* lanes[kWarpSize];
    for (int i = 0; i < kWarpSize; ++i) lanes[i] = static_cast<T*>(deposits[i]);
    function(present, lanes);
  };
  meet(mask, &mine, meeting, what, where);
}

// Each lane of `mask` gets all[i] = lane i's `mine`; entries of other lanes stay unchanged.
template <typename T>
void warp_exchange(unsigned mask, const T& mine, T (&all)[kWarpSize], const char* what = "warp_exchange",
                   std::source_location where = std::source_location::current()) {
  struct Exchange {
    const T* mine;
    T* all;
  } exchange{&mine, all};
  constexpr Meeting meeting = [](unsigned present, void* const* deposits) {
    for (int to = 0; to < kWarpSize; ++to)
      for (int from = 0; from < kWarpSize; ++from)
        if ((present >> to & present >> from & 1u) != 0)
          static_cast<Exchange*>(deposits[to])->all[from] = *static_cast<Exchange*>(deposits[from])->mine;
  };
  meet(mask, &exchange, meeting, what, where);
}

// ---- for tests

// The nodes of a graph: copies, other work that waits for a copy, and other work that waits for none.
struct CopiesInGraph {
  int copies = 0, waiting = 0, others = 0;
};
CopiesInGraph copies_in(cudaGraph_t graph);

void set_seed(uint64_t seed);  // seed of all shuffled orders from now on; initially WEFT_EMULATION_SEED

}  // namespace weft::emulation
