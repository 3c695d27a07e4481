// tests/emulation/machine/fiber.h: a fibre: a separate stack on which the host thread continues after a
// switch. Sanitizers are notified of every switch.
#pragma once

#include <cstddef>

#include "tests/emulation/machine/sanitizer.h"

namespace boost::context::detail {
struct transfer_t;
}

namespace weft::emulation {

class Fiber {
 public:
  using Body = void (*)(Fiber& self, void* argument);  // never returns

  Fiber() = default;                                // the host thread's own stack
  Fiber(Body body, void* argument, size_t number);  // the numbers spread the stacks over the processor's cache
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void switch_to(Fiber& other);  // from this running fibre; returns after a switch back
  void restart();                // abandons its state: the body will run from the beginning

 private:
  static void enter(boost::context::detail::transfer_t transfer);
  void arrive(boost::context::detail::transfer_t transfer);

  Body body_ = nullptr;
  void* argument_ = nullptr;
  std::byte* mapped_ = nullptr;  // a guard page, then the stack
  std::byte* top_ = nullptr;
  void* context_ = nullptr;  // saved context
  SanitizerFiber sanitizer_;
};

}  // namespace weft::emulation
