// tests/emulation/runtime/census.cpp: sums by device and name. Names of kernels are found when somebody asks.
#include "tests/emulation/runtime/census.h"

#include <mutex>
#include <tuple>

#include "tests/emulation/runtime/kernel_names.h"

namespace weft::emulation {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::tuple<int, std::string, const void*>, Count> by_work;
};
Counts& counts() {
  static auto* const all = new Counts;
  return *all;
}

}  // namespace

void count(int device, const Counted& work) {
  if (work.what.empty() && work.kernel == nullptr) return;
  const std::scoped_lock lock(counts().mutex);
  Count& sum = counts().by_work[{device, work.what, work.kernel}];
  ++sum.calls;
  sum.bytes += static_cast<int64_t>(work.bytes);
}

Census census(int device) {
  const std::scoped_lock lock(counts().mutex);
  Census named;
  for (const auto& [key, count] : counts().by_work) {
    const auto& [of, what, kernel] = key;
    if (of != device) continue;
    Count& sum = named[kernel == nullptr ? what : "kernel " + kernel_name(kernel)];
    sum.calls += count.calls;
    sum.bytes += count.bytes;
  }
  return named;
}

}  // namespace weft::emulation
