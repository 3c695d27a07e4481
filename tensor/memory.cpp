// tensor/memory.cpp: allocates Buffers, and moves the bump pointer of an Arena.
#include "tensor/memory.h"

#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "tensor/backend.h"
#include "tensor/error.h"

namespace weft {

namespace {

constexpr size_t kAlignment = 64;  // in bytes: tensors in an Arena begin on a cache line

std::atomic<int64_t> num_allocations = 0;

constexpr size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

void* allocate(size_t bytes, Device device) {
  ++num_allocations;
  void* data = backend(device).allocate(bytes);
  if (data == nullptr) {
    fail(ErrorKind::usage,
         fmt::format("out of memory: cannot allocate {:.1f} MiB; use a smaller model or, in training, lower batch.rows",
                     static_cast<double>(bytes) / (1 << 20)));
  }
  return data;
}

// Debug builds fill uninitialized memory with NaN, so that results show when an op has read such memory.
void poison([[maybe_unused]] const Tensor& t) {
#ifndef NDEBUG
  if (t.data == nullptr || t.device != Device::cpu) return;
  if (t.dtype == DType::i32) {
    std::memset(t.data, 0x80, t.bytes());  // an index beyond any table
  } else {
    std::memset(t.data, 0xFF, t.bytes());  // NaN in every float
  }
#endif
}

}  // namespace

Buffer::Buffer(size_t bytes, Device device) : bytes_(bytes), device_(device) {
  if (bytes > 0) data_ = allocate(bytes, device);
}

Buffer Buffer::planned(size_t bytes, Device device) {
  Buffer buffer;
  buffer.bytes_ = bytes, buffer.device_ = device;
  return buffer;
}

size_t Buffer::footprint(size_t bytes, Device device) { return backend(device).footprint(bytes); }

int64_t Buffer::allocations() { return num_allocations; }

Buffer::~Buffer() {
  if (data_ != nullptr) backend(device_).release(data_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), device_(other.device_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  return *this;
}

Tensor Buffer::tensor(Shape shape, DType dtype, size_t byte_offset) const {
  const Tensor t(data_ == nullptr ? nullptr : static_cast<char*>(data_) + byte_offset, shape, dtype, device_);
  if (byte_offset + t.bytes() > bytes_) {
    fail(ErrorKind::internal, fmt::format("a {} tensor {} at byte {} ends beyond its buffer of {} bytes",
                                          name_of(dtype), shape.str(), byte_offset, bytes_));
  }
  return t;
}

Arena::Arena(size_t bytes, Device device) : device_(device), buffer_(bytes > 0 ? bytes : kAlignment, device) {}

Tensor Arena::tensor(Shape shape, DType dtype) {
  Tensor t(nullptr, shape, dtype, device_);
  const size_t end = used_ + round_up(t.bytes(), kAlignment);
  if (!measuring()) {
    if (end > capacity()) {
      fail(ErrorKind::internal, fmt::format("the arena of {} bytes is too small: a {} tensor {} would end at byte {}",
                                            capacity(), name_of(dtype), shape.str(), end));
    }
    t.data = static_cast<char*>(buffer_.data()) + used_;
  }
  used_ = end;
  if (used_ > high_water_) high_water_ = used_;
  poison(t);
  return t;
}

void Arena::reset(size_t mark) {
  assert(mark <= used_);
  used_ = mark;
}

}  // namespace weft
