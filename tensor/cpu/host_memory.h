// tensor/cpu/host_memory.h: memory of CPU Buffers: aligned, zero-filled, large ones on huge pages.
#pragma once

#include <cstddef>

namespace weft::cpu {

void* allocate(size_t bytes);  // nullptr: out of memory
void release(void* data) noexcept;
size_t footprint(size_t bytes);

}  // namespace weft::cpu
