// tensor/cpu/host_memory.h: allocates the memory of CPU Buffers: aligned, zero-filled, and on huge pages if large.
#pragma once

#include <cstddef>

namespace weft::cpu {

void* allocate(size_t bytes);  // returns nullptr if out of memory
void release(void* data) noexcept;
size_t footprint(size_t bytes);

}  // namespace weft::cpu
