// tests/emulation/machine/sanitizer.h: notifies sanitizers of memory and stacks; does nothing without them.
#pragma once

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/tsan_interface.h>

#include <cstddef>

namespace weft::emulation {

inline void poison(const void* data, size_t bytes) { ASAN_POISON_MEMORY_REGION(data, bytes); }
inline void unpoison(const void* data, size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(data, bytes); }

// The sanitizers' state of a fibre. start_switch() is called before a switch to it, finish_switch() after the
// switch on its stack; that returns the stack of the previous fibre.
struct SanitizerFiber {
  const void* bottom = nullptr;
  size_t size = 0;
  void* fake_stack = nullptr;  // AddressSanitizer's
  void* thread = nullptr;      // ThreadSanitizer's
};

inline void start_switch([[maybe_unused]] SanitizerFiber& from, [[maybe_unused]] SanitizerFiber& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
#elif defined(__SANITIZE_THREAD__)
  if (from.thread == nullptr) from.thread = __tsan_get_current_fiber();
  if (to.thread == nullptr) to.thread = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(to.thread, 0);
#endif
}
inline void finish_switch([[maybe_unused]] SanitizerFiber& from, [[maybe_unused]] SanitizerFiber& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(to.fake_stack, &from.bottom, &from.size);
#endif
}
inline void forget_fiber([[maybe_unused]] SanitizerFiber& fiber) {
  unpoison(fiber.bottom, fiber.size);
  fiber.fake_stack = nullptr;
#if defined(__SANITIZE_THREAD__)
  if (fiber.thread != nullptr) __tsan_destroy_fiber(fiber.thread);
  fiber.thread = nullptr;
#endif
}

}  // namespace weft::emulation
