// tests/emulation/ptx/memory.cpp: finds and checks what an access reads or writes.
#include "tests/emulation/ptx/memory.h"

#include <algorithm>
#include <cstring>

namespace weft::emulation::ptx {
namespace {

constexpr size_t kCopied = 16;  // bytes of an asynchronous copy

const char* name_of(Space space) {
  return space == Space::global   ? "global"
         : space == Space::shared ? "shared"
         : space == Space::local  ? "local"
                                  : "param";
}

[[noreturn]] void refuse(const Access& access, const std::string& what) {
  throw Error("line " + std::to_string(access.line) + ": thread " + std::to_string(access.thread) + ": " + what);
}

}  // namespace

Globals::Globals(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    if (v.space != Space::global) continue;
    std::vector<std::byte> values = v.values;
    values.resize(v.bytes);
    variables_[v.name] = std::move(values);
  }
}

const std::byte* Globals::find(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : found->second.data();
}

std::span<const std::byte> Globals::around(uint64_t address) const {
  for (const auto& [name, values] : variables_)
    if (address - reinterpret_cast<uintptr_t>(values.data()) < values.size()) return values;
  return {};
}

BlockMemory::BlockMemory(const Program& program, const Setup& setup)
    : program_(program),
      setup_(setup),
      shared_((program.static_shared_bytes + 15) / 16 * 16 + setup.dynamic_shared_bytes),
      local_(program.local_bytes * static_cast<size_t>(setup.num_threads)),
      races_(shared_.size()),
      copies_(static_cast<size_t>(setup.num_threads)),
      groups_(static_cast<size_t>(setup.num_threads)),
      random_(setup.seed) {}

void BlockMemory::start_block() {
  std::ranges::fill(shared_, std::byte{0xFF});  // NaN
  std::ranges::fill(local_, std::byte{0xFF});
  races_.start_block();
  for (std::vector<AsyncCopy>& copies : copies_) copies.clear();  // those that a thread left without awaiting
}

std::byte* BlockMemory::find(Space space, uint64_t address, size_t bytes, const Access& access) {
  if ((address & kWindows) != 0 && space == Space::global) {  // a generic address
    space = (address & kWindows) == kSharedWindow ? Space::shared : Space::local;
    address &= ~kWindows;
  }
  if (address % bytes != 0)
    refuse(access, "an access of " + std::to_string(bytes) + " bytes of " + name_of(space) + " memory at " +
                       std::to_string(address) + ", which is not a multiple");
  if (space == Space::global) return in_global(address, bytes, access);
  std::byte* begin = space == Space::shared ? shared_.data() : const_cast<std::byte*>(setup_.params.data());
  size_t size = space == Space::shared ? shared_.size() : setup_.params.size();
  if (space == Space::local) {
    size = program_.local_bytes;
    begin = local_.data() + size * static_cast<size_t>(access.thread);
  }
  if (address > size || bytes > size - address)
    refuse(access, "an access of " + std::to_string(bytes) + " bytes at " + std::to_string(address) + " of " +
                       std::to_string(size) + " bytes of " + name_of(space) + " memory");
  return begin + address;
}

std::byte* BlockMemory::in_global(uint64_t address, size_t bytes, const Access& access) {
  std::span<const std::byte> found = (*setup_.allocations)(address);
  if (found.empty()) found = setup_.globals->around(address);
  const Range range{reinterpret_cast<uintptr_t>(found.data()), found.size()};
  if (!range.contains(address, bytes))
    refuse(access, "an access of " + std::to_string(bytes) + " bytes outside of device memory");
  recent_[static_cast<size_t>(access.line) % kRecent] = range;
  return reinterpret_cast<std::byte*>(address);
}

void BlockMemory::copy(uint64_t to, uint64_t from, bool exists, const Access& access) {
  find(Space::shared, to, kCopied, access);
  AsyncCopy copy{.to = to, .group = groups_[static_cast<size_t>(access.thread)]};
  if (exists) copy.from = load(Space::global, from, kCopied, access);
  copy.is_late = setup_.copies == CopyTime::late || (setup_.copies == CopyTime::random && random_.below(2) != 0);
  races_.begin_copy(to, kCopied, access);
  if (!copy.is_late) finish(copy);
  copies_[static_cast<size_t>(access.thread)].push_back(copy);
}

void BlockMemory::await_copies(int left, const Access& access) {
  const int64_t end = groups_[static_cast<size_t>(access.thread)] - left;
  std::erase_if(copies_[static_cast<size_t>(access.thread)], [&](const AsyncCopy& copy) {
    if (copy.group >= end) return false;
    if (copy.is_late) finish(copy);
    races_.end_copy(copy.to, kCopied, access);
    return true;
  });
}

void BlockMemory::finish(const AsyncCopy& copy) {
  if (copy.from == nullptr) {
    std::memset(shared_.data() + copy.to, 0, kCopied);
  } else {
    std::memcpy(shared_.data() + copy.to, copy.from, kCopied);
  }
}

}  // namespace weft::emulation::ptx
