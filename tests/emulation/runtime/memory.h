// tests/emulation/runtime/memory.h: the memory of one emulated device: a range of addresses of its own, which nobody
// may touch but the device's work while it runs.
//
// Fresh memory is filled with 0xFF: every float type reads NaN, every id -1. An allocation ends where its last page
// ends (rounded to 256 bytes, CUDA's alignment), and an inaccessible page follows: an overrun is a fault, and
// AddressSanitizer, where it is on, sees every byte too much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

namespace weft::emulation {

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t total);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* allocate(size_t bytes);  // nullptr: there is not so much
  bool release(void* data);      // false: no allocation begins there
  void release_all();
  size_t total() const { return total_; }
  size_t used() const;
  bool holds(const void* data, size_t bytes) const;  // all of it in one live allocation
  bool spans(const void* data) const;                // an address of this device, allocated or not

  void open();  // counted: accessible until there were as many close()
  void close();

 private:
  struct Allocation {
    size_t bytes, pages_bytes;
    std::byte* pages;
  };
  using Allocations = std::map<std::byte*, Allocation>;  // by where the data begins
  std::byte* find_room(size_t bytes);
  void free_pages(const Allocation& allocation);
  void protect(int protection) const;

  const size_t total_;
  std::byte* base_;
  mutable std::mutex mutex_;
  Allocations allocations_;
  std::byte* next_;  // where the search for room goes on: addresses are used again as late as possible
  size_t used_ = 0;
  int opened_ = 0;
};

// What a piece of work may touch while it runs; keeps it open from one piece to the next that needs the same.
class Access {
 public:
  explicit Access(std::span<DeviceMemory* const> devices) : devices_(devices) {}
  ~Access() { close(); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  void open(int device) { set(1u << device); }
  void open_all() { set((1u << devices_.size()) - 1); }
  void close() { set(0); }

 private:
  void set(unsigned wanted);
  std::span<DeviceMemory* const> devices_;
  unsigned open_ = 0;
};

// Host memory that the devices know: copies from and to it are done when their turn comes.
class PinnedMemory {
 public:
  void* allocate(size_t bytes);
  bool release(void* data);
  bool holds(const void* data, size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, size_t> allocations_;
};

// A word that can only be an address of the host's: a kernel that got it as an argument would read the wrong side.
bool is_host_address(uint64_t word);

}  // namespace weft::emulation
