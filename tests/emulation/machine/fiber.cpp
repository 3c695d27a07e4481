// tests/emulation/machine/fiber.cpp: fibres with Boost.Context's low-level switch: an aborted kernel is
// abandoned without unwinding its stacks.
#include "tests/emulation/machine/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <new>

namespace weft::emulation {
namespace {

using namespace boost::context::detail;

// Address space; untouched pages cost nothing. Device code under AddressSanitizer has large frames.
constexpr size_t kStackBytes = 256 * 1024;

struct Switch {
  Fiber *from, *to;
};

}  // namespace

Fiber::Fiber(Body body, void* argument, size_t number) : body_(body), argument_(argument) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, page + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapped_ = static_cast<std::byte*>(mapped);
  mprotect(mapped_, page, PROT_NONE);
  sanitizer_.bottom = mapped_ + page;
  sanitizer_.size = kStackBytes;
  // Stack tops at multiples of the page size would share a few sets of each cache.
  top_ = mapped_ + page + kStackBytes - number % 64 * 832;
  restart();
}

Fiber::~Fiber() {
  if (mapped_ == nullptr) return;
  forget_fiber(sanitizer_);
  munmap(mapped_, static_cast<size_t>(sysconf(_SC_PAGESIZE)) + kStackBytes);
}

void Fiber::restart() {
  forget_fiber(sanitizer_);
  context_ = make_fcontext(top_, static_cast<size_t>(top_ - static_cast<const std::byte*>(sanitizer_.bottom)), enter);
}

void Fiber::switch_to(Fiber& other) {
  Switch change{this, &other};
  start_switch(sanitizer_, other.sanitizer_);
  arrive(jump_fcontext(other.context_, &change));
}

void Fiber::arrive(transfer_t transfer) {  // on the fibre that runs now
  Fiber& from = *static_cast<Switch*>(transfer.data)->from;
  from.context_ = transfer.fctx;
  finish_switch(from.sanitizer_, sanitizer_);
}

void Fiber::enter(transfer_t transfer) {
  Fiber& self = *static_cast<Switch*>(transfer.data)->to;
  self.arrive(transfer);
  self.body_(self, self.argument_);
  std::abort();
}

}  // namespace weft::emulation
