// tensor/cpu/host_memory.cpp: allocates aligned memory from the C library.
#include "tensor/cpu/host_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace weft::cpu {
namespace {

constexpr size_t kAlignment = 64;              // a cache line
constexpr size_t kHugePage = size_t{2} << 20;  // large buffers are on huge pages, for fewer TLB misses

constexpr size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

constexpr size_t alignment_of(size_t bytes) { return bytes >= 2 * kHugePage ? kHugePage : kAlignment; }

}  // namespace

void* allocate(size_t bytes) {
  const size_t alignment = alignment_of(bytes), rounded = round_up(bytes, alignment);
  void* data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr) return nullptr;
  if (alignment == kHugePage) madvise(data, rounded, MADV_HUGEPAGE);  // best effort; failure costs only speed
  std::memset(data, 0, bytes);
  return data;
}

void release(void* data) noexcept { std::free(data); }

size_t footprint(size_t bytes) { return round_up(bytes, alignment_of(bytes)); }

}  // namespace weft::cpu
