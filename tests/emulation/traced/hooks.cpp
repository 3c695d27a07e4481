// tests/emulation/traced/hooks.cpp: what kernels call that the compiler instruments with -fsanitize=kernel-address: a
// function for each size, before each access of memory. Linked into libweft_cuda_traced.so alone.
#include <cstddef>
#include <cstdint>

#include "tests/emulation/runtime/traffic.h"

namespace {

[[maybe_unused]] const bool noting = [] {
  weft::emulation::note_all_accesses();
  return true;
}();

void note(uintptr_t address, size_t bytes, bool is_store, const void* instruction) {
  weft::emulation::note_access(reinterpret_cast<const void*>(address), bytes, is_store, instruction);
}

}  // namespace

// GCC's names (gcc/sanitizer.def); a kernel defines them for itself.
#define WEFT_HOOK(size)                                              \
  extern "C" void __asan_load##size##_noabort(uintptr_t at) {        \
    note(at, size, /*is_store=*/false, __builtin_return_address(0)); \
  }                                                                  \
  extern "C" void __asan_store##size##_noabort(uintptr_t at) {       \
    note(at, size, /*is_store=*/true, __builtin_return_address(0));  \
  }
WEFT_HOOK(1)
WEFT_HOOK(2)
WEFT_HOOK(4)
WEFT_HOOK(8)
WEFT_HOOK(16)
extern "C" void __asan_loadN_noabort(uintptr_t at, size_t bytes) {
  note(at, bytes, false, __builtin_return_address(0));
}
extern "C" void __asan_storeN_noabort(uintptr_t at, size_t bytes) {
  note(at, bytes, true, __builtin_return_address(0));
}
extern "C" void __asan_handle_no_return() {}
extern "C" void __asan_before_dynamic_init(const char*) {}
extern "C" void __asan_after_dynamic_init() {}
