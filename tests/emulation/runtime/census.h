// tests/emulation/runtime/census.h: counts what the emulated devices did: kernels by name, calls of libraries,
// copies, and the host's calls that wait. What a graph replays counts like work that was launched by itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace weft::emulation {

struct Counted {  // what an item of work counts as; nothing if both are empty
  std::string what = {};
  const void* kernel = nullptr;
  uint64_t bytes = 0;
};

void count(int device, const Counted& work);

struct Count {
  int64_t calls = 0, bytes = 0;
  bool operator==(const Count&) const = default;
};
using Census = std::map<std::string, Count>;

// Everything that a device has finished, and that the host called for it, since the process began. Kernels have
// their C++ names without weft's namespaces; libraries of kernels need a symbol table (they are not stripped).
Census census(int device);

}  // namespace weft::emulation
