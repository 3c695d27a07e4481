// tensor/memory.h: defines who owns memory: a Buffer owns it, an Arena hands out parts of its Buffer, and a Tensor is
// only a view.
//
// All blocks of data have the same shape, so a dry run of forward and backward on a measuring Arena finds the exact
// size of the real Arena before the first step. Steps then allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tensor/tensor.h"

namespace weft {

class Buffer {  // move-only, zero-filled, aligned to 64 bytes
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes, Device device = Device::cpu);
  static Buffer planned(size_t bytes, Device device);  // owns no memory, and hands out null tensors
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  static size_t footprint(size_t bytes, Device device = Device::cpu);  // bytes that a Buffer takes, rounded up
  size_t footprint() const { return bytes_ == 0 ? 0 : footprint(bytes_, device_); }
  static int64_t allocations();  // Buffers allocated since the program started, by all threads
  Tensor tensor(Shape shape, DType dtype = DType::f32, size_t byte_offset = 0) const;

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Device device_ = Device::cpu;
};

class Arena {
 public:
  explicit Arena(Device device = Device::cpu) : device_(device) {}  // measuring: hands out null tensors, counts bytes
  explicit Arena(size_t bytes, Device device = Device::cpu);        // real: throws if `bytes` are exceeded

  Tensor tensor(Shape shape, DType dtype = DType::f32);  // uninitialized (NaN in debug builds)
  Tensor like(const Tensor& t) { return tensor(t.shape, t.dtype); }

  size_t mark() const { return used_; }
  void reset(size_t mark = 0);  // frees everything handed out after `mark`
  size_t high_water() const { return high_water_; }
  size_t capacity() const { return buffer_.bytes(); }
  bool measuring() const { return buffer_.data() == nullptr; }

 private:
  Device device_;
  Buffer buffer_;
  size_t used_ = 0, high_water_ = 0;
};

class ArenaScope {  // frees the temporaries of a function at the end of the scope
 public:
  explicit ArenaScope(Arena& arena) : arena_(&arena), mark_(arena.mark()) {}
  ~ArenaScope() {  // an enclosing scope may have ended first
    if (arena_ != nullptr && mark_ < arena_->mark()) arena_->reset(mark_);
  }
  ArenaScope(ArenaScope&& other) noexcept : arena_(std::exchange(other.arena_, nullptr)), mark_(other.mark_) {}
  ArenaScope& operator=(ArenaScope&&) = delete;

 private:
  Arena* arena_;
  size_t mark_;
};

}  // namespace weft
