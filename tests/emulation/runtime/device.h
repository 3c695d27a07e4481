// tests/emulation/runtime/device.h: what the stand-ins of CUDA's libraries (cuBLASLt, NCCL, the mma wrapper) ask of the
// emulated device, and what its tests set.
//
// The device is one shared library, libweft_emulation.so; the modules whose kernels it runs link it, as real ones link
// cudart. The environment says what it is like: WEFT_EMULATION_DEVICES (how many, 1), WEFT_EMULATION_MEMORY (bytes of
// each, 8 GiB), WEFT_EMULATION_SEED (of all orders, 1).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>

namespace weft::emulation {

// ---- work on streams, done by the host's processor as a GPU would do it: late, in the stream's order

enum class Reach {
  device,
  all_devices
};  // which memory a job may touch beside the host's: its stream's device's, or all

// Runs `job` when its turn comes, with device memory accessible. It is kept and run again where a graph replays it.
// What it throws becomes the device's error, as a kernel's fault does.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> job, Reach reach = Reach::device);

// The same for work that needs others, such as a collective: `poll` is called while it is the first of its stream until
// it returns true; meanwhile other streams' work goes on. After true it may be called anew, by a graph's next launch.
cudaError_t enqueue_polled(cudaStream_t stream, std::function<bool()> poll, Reach reach = Reach::all_devices);

// Lets one piece of any device's work be done; false if there is none that can be. Streams advance only while somebody
// waits for one: who waits for another process, otherwise than by a stream, has this called meanwhile.
bool advance();

// ---- memory

// All of it in one live allocation of device memory; of `device`, where that is given.
bool is_device_memory(const void* data, size_t bytes, int device = -1);
bool is_pinned_memory(const void* data, size_t bytes);  // of cudaMallocHost, cudaHostAlloc

// ---- errors

// Remembers what was wrong for cudaGetErrorString(status), which says it to the calling thread; returns `status`.
cudaError_t report(cudaError_t status, std::string detail);

// ---- the lanes of a warp, for device code

inline constexpr int kWarpSize = 32;

int lane();  // of the calling thread

// The lanes that `mask` names meet: each lays down a pointer; the last one to come calls `meeting` once with all of
// them (nullptr: not in `mask`), then each goes on. It is the same function for all; `what` and `where` are for
// messages.
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

// Each lane of `mask` gets all[i] = lane i's `mine`; what belongs to no lane of `mask` stays as it was.
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

void set_seed(uint64_t seed);  // of all shuffled orders from here on; before, that of WEFT_EMULATION_SEED

}  // namespace weft::emulation
