// tests/emulation/runtime/memory.h: the memory of an emulated device: a range of addresses that only the
// device's work can access while it runs.
//
// Fresh memory is filled with 0xFF: NaN in every float type, -1 as an id. An allocation ends at the end of
// its last page (rounded to 256 bytes, CUDA's alignment), and an inaccessible page follows: an overrun
// faults. AddressSanitizer, if enabled, detects every byte beyond the end.
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

  void* allocate(size_t bytes);  // nullptr: out of memory
  bool release(void* data);      // false: not the beginning of an allocation
  void release_all();
  size_t total() const { return total_; }
  size_t used() const;
  bool holds(const void* data, size_t bytes) const;           // whether all of it is in one live allocation
  std::span<const std::byte> around(const void* data) const;  // the live allocation that contains it; empty: none
  bool spans(const void* data) const;  // whether it is an address of this device, allocated or not

  void open();  // nested: accessible until the matching close()
  void close();

 private:
  struct Allocation {
    size_t bytes, pages_bytes;
    std::byte* pages;
  };
  using Allocations = std::map<std::byte*, Allocation>;  // by address of the data
  std::byte* find_room(size_t bytes);
  void free_pages(const Allocation& allocation);
  void protect(int protection) const;

  const size_t total_;
  std::byte* base_;
  mutable std::mutex mutex_;
  Allocations allocations_;
  std::byte* next_;  // start of the next search: addresses are reused as late as possible
  size_t used_ = 0;
  int opened_ = 0;
};

// The memory that an item of work may access; stays open for the next item if that needs the same.
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

// Pinned host memory: copies from and to it are asynchronous.
class PinnedMemory {
 public:
  void* allocate(size_t bytes);
  bool release(void* data);
  bool holds(const void* data, size_t bytes) const;
  std::span<const std::byte> around(const void* data) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, size_t> allocations_;
};

// Whether a word can only be a host address, which is an error as a kernel argument.
bool is_host_address(uint64_t word);

}  // namespace weft::emulation
