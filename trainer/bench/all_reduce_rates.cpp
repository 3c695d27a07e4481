// trainer/bench/all_reduce_rates.cpp: times the all-reduce over all ranks that training uses for gradients.
#include "trainer/bench/all_reduce_rates.h"

#include <iterator>

#include "tensor/memory.h"
#include "trainer/step/repeat.h"

namespace weft {

std::vector<AllReduceRate> measure_all_reduce(Communicator& world, Context& ctx, Communicator& group, double seconds) {
  constexpr int64_t kBytes[] = {4 << 10, 256 << 10, 4 << 20, 64 << 20};
  std::vector<AllReduceRate> rates;
  if (world.size() == 1) return rates;
  for (const int64_t bytes : kBytes) {
    const Buffer buffer(static_cast<size_t>(bytes), ctx.device());
    const Tensor x = buffer.tensor({bytes / static_cast<int64_t>(sizeof(float))});
    const auto sum = [&] {
      group.all_reduce(x);
      ctx.synchronize();
    };
    sum();  // warm-up: touches all memory once
    const Times times = repeat(world, seconds / std::size(kBytes), sum);
    rates.push_back({bytes, times.median()});
  }
  return rates;
}

}  // namespace weft
