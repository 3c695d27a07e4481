// tests/emulation/runtime/memory.cpp: device memory by mmap and mprotect; pinned memory as a list.
#include "tests/emulation/runtime/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "tests/emulation/machine/sanitizer.h"

namespace weft::emulation {
namespace {

constexpr size_t kAddresses = size_t{64} << 30;
constexpr size_t kAlignment = 256;
constexpr size_t kHugePage = size_t{2} << 20;  // unit of large allocations, which are cheap to open

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }
size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
size_t unit_of(size_t bytes) { return bytes > kHugePage / 2 ? kHugePage : page_bytes(); }
std::byte* align(std::byte* p, size_t unit) {
  return reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(p), unit));
}

std::byte* reserve(void* at, size_t bytes) {  // reserves address space only
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at == nullptr ? 0 : MAP_FIXED);
  void* const mapped = mmap(at, bytes, PROT_NONE, flags, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(mapped);
}

std::span<const std::byte> containing(std::span<const std::byte> allocation, const void* data) {
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(data) - allocation.data());
  return offset <= allocation.size() ? allocation : std::span<const std::byte>();
}

bool is_within(std::span<const std::byte> allocation, const void* data, size_t bytes) {
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(data) - allocation.data());
  return allocation.data() != nullptr && bytes <= allocation.size() - offset;
}

}  // namespace

DeviceMemory::DeviceMemory(size_t total) : total_(total), base_(reserve(nullptr, kAddresses)), next_(base_) {}

DeviceMemory::~DeviceMemory() {
  release_all();
  munmap(base_, kAddresses);
}

// Finds space for `bytes` with a free page on both sides, from next_ on, then from the beginning.
// `allocations_` is sorted by address.
std::byte* DeviceMemory::find_room(size_t bytes) {
  const size_t page = page_bytes(), unit = unit_of(bytes);
  for (std::byte* const start : {next_, base_}) {
    std::byte* at = align(start + page, unit);
    for (auto after = allocations_.lower_bound(start); after != allocations_.end(); ++after) {
      if (at + bytes + page <= after->second.pages) break;
      at = align(after->second.pages + after->second.pages_bytes + page, unit);
    }
    if (at + bytes + page <= base_ + kAddresses) return at;
  }
  return nullptr;
}

void* DeviceMemory::allocate(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const size_t rounded = round_up(bytes, kAlignment), pages_bytes = round_up(rounded, unit_of(rounded));
  if (bytes > total_ || rounded > total_ - used_) return nullptr;
  std::byte* const pages = find_room(pages_bytes);
  if (pages == nullptr || mprotect(pages, pages_bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
  if (pages_bytes >= kHugePage) madvise(pages, pages_bytes, MADV_HUGEPAGE);
  madvise(pages, pages_bytes, MADV_DONTDUMP);  // unlike its neighbours, so that mprotect need not split mappings
  std::byte* const data = pages + pages_bytes - rounded;
  unpoison(pages, pages_bytes);
  std::memset(pages, 0xFF, pages_bytes);
  poison(pages, pages_bytes);
  unpoison(data, bytes);
  if (opened_ == 0) mprotect(pages, pages_bytes, PROT_NONE);
  allocations_[data] = {bytes, pages_bytes, pages};
  used_ += rounded;
  next_ = pages + pages_bytes;
  return data;
}

void DeviceMemory::free_pages(const Allocation& allocation) {
  reserve(allocation.pages, allocation.pages_bytes);
  unpoison(allocation.pages, allocation.pages_bytes);
  used_ -= round_up(allocation.bytes, kAlignment);
}

bool DeviceMemory::release(void* data) {
  const std::scoped_lock lock(mutex_);
  const auto found = allocations_.find(static_cast<std::byte*>(data));
  if (found == allocations_.end()) return false;
  free_pages(found->second);
  allocations_.erase(found);
  return true;
}

void DeviceMemory::release_all() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [data, allocation] : allocations_) free_pages(allocation);
  allocations_.clear();
}

size_t DeviceMemory::used() const {
  const std::scoped_lock lock(mutex_);
  return used_;
}

bool DeviceMemory::spans(const void* data) const {
  const auto* const p = static_cast<const std::byte*>(data);
  return p >= base_ && p < base_ + kAddresses;
}

std::span<const std::byte> DeviceMemory::around(const void* data) const {
  if (!spans(data)) return {};
  const std::scoped_lock lock(mutex_);
  const auto after = allocations_.upper_bound(static_cast<std::byte*>(const_cast<void*>(data)));
  if (after == allocations_.begin()) return {};
  const auto& [begin, allocation] = *std::prev(after);
  return containing({begin, allocation.bytes}, data);
}

bool DeviceMemory::holds(const void* data, size_t bytes) const { return is_within(around(data), data, bytes); }

void DeviceMemory::protect(int protection) const {
  for (const auto& [data, allocation] : allocations_) mprotect(allocation.pages, allocation.pages_bytes, protection);
}

void DeviceMemory::open() {
  const std::scoped_lock lock(mutex_);
  if (opened_++ == 0) protect(PROT_READ | PROT_WRITE);
}

void DeviceMemory::close() {
  const std::scoped_lock lock(mutex_);
  if (--opened_ == 0) protect(PROT_NONE);
}

void Access::set(unsigned wanted) {
  for (size_t i = 0; i < devices_.size(); ++i)
    if ((wanted & ~open_) >> i & 1u) devices_[i]->open();
  for (size_t i = 0; i < devices_.size(); ++i)
    if ((open_ & ~wanted) >> i & 1u) devices_[i]->close();
  open_ = wanted;
}

void* PinnedMemory::allocate(size_t bytes) {
  void* const data = ::operator new(bytes, std::align_val_t(kAlignment), std::nothrow);
  if (data == nullptr) return nullptr;
  std::memset(data, 0xFF, bytes);
  const std::scoped_lock lock(mutex_);
  allocations_[static_cast<std::byte*>(data)] = bytes;
  return data;
}

bool PinnedMemory::release(void* data) {
  const std::scoped_lock lock(mutex_);
  if (allocations_.erase(static_cast<std::byte*>(data)) == 0) return false;
  ::operator delete(data, std::align_val_t(kAlignment));
  return true;
}

std::span<const std::byte> PinnedMemory::around(const void* data) const {
  const std::scoped_lock lock(mutex_);
  const auto after = allocations_.upper_bound(static_cast<const std::byte*>(data));
  if (after == allocations_.begin()) return {};
  const auto& [begin, size] = *std::prev(after);
  return containing({begin, size}, data);
}

bool PinnedMemory::holds(const void* data, size_t bytes) const { return is_within(around(data), data, bytes); }

bool is_host_address(uint64_t word) {
  // Programs, heaps, libraries and stacks are above; one or two small numbers in a word are below.
  if (word < uint64_t{0x5000} << 32 || word >= uint64_t{1} << 48) return false;
  const uint64_t page = word / page_bytes() * page_bytes();
  return msync(reinterpret_cast<void*>(page), 1, MS_ASYNC) == 0;  // fails for unmapped pages
}

}  // namespace weft::emulation
