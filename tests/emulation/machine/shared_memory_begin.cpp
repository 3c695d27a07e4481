// tests/emulation/machine/shared_memory_begin.cpp: where the shared memory of a module's kernels begins.
//
// A kernel's __shared__ array is a thread-local variable, for a host thread runs one block at a time. The linker lays
// out thread-local variables in the order of the objects that it is given: between this one and shared_memory_end.cpp
// come those with kernels, and nothing else that has thread-local variables; so all shared memory can be filled with
// NaN.
#include <cstddef>

namespace weft::emulation {

alignas(16) thread_local std::byte shared_memory_begin[16];

}  // namespace weft::emulation
