// tensor/cpu/host_memory.h: where Buffers of the CPU lie: aligned, zero-filled, large ones on huge pages.
#pragma once

#include <cstddef>

namespace weft::cpu {

void* allocate(size_t bytes);  // nullptr: there is not so much
void release(void* data) noexcept;
size_t footprint(size_t bytes);

}  // namespace weft::cpu
