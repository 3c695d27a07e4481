// tests/emulation/machine/shared_memory_begin.cpp: the beginning of the shared memory of a module's kernels.
//
// A kernel's __shared__ array is a thread-local variable, because a host thread runs one block at a time. The
// linker places thread-local variables in the order of its object files. Only objects with kernels are
// between this one and shared_memory_end.cpp, and they have no other thread-local variables; so all shared
// memory can be filled with NaN.
#include <cstddef>

namespace weft::emulation {

alignas(16) thread_local std::byte shared_memory_begin[16];

}  // namespace weft::emulation
