// trainer/bench/kernel_rates.cpp: records the ops of one step, then times each of them repeatedly.
#include "trainer/bench/kernel_rates.h"

#include <algorithm>
#include <cstring>

#include "parallel/mesh.h"
#include "tensor/memory.h"
#include "tensor/op/op_trace.h"
#include "tensor/transfer.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/step/repeat.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

struct Kind {
  OpTrace::Op first;
  int64_t calls;
};

std::vector<Kind> kinds_of(const std::vector<OpTrace::Op>& ops) {
  std::vector<Kind> kinds;
  for (const OpTrace::Op& op : ops) {
    if (std::strcmp(op.name, "gemm") == 0) continue;
    const auto same = [&](const Kind& k) { return std::strcmp(k.first.name, op.name) == 0 && k.first.cost == op.cost; };
    const auto known = std::find_if(kinds.begin(), kinds.end(), same);
    if (known == kinds.end()) {
      kinds.push_back({op, 1});
    } else {
      ++known->calls;
    }
  }
  return kinds;
}

}  // namespace

std::vector<CopyRate> measure_copies(Context& ctx, double seconds) {
  constexpr int64_t kSmallest = int64_t{1} << 15, kLargest = int64_t{1} << 27;  // bytes copied
  constexpr int kSizes = 13;
  const Buffer from(kLargest, ctx.device()), to(kLargest, ctx.device());
  const auto alone = make_single_communicator();
  std::vector<CopyRate> rates;
  for (int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    const auto numel = bytes / static_cast<int64_t>(sizeof(float));
    const Times times =
        repeat_in_batches(*alone, ctx, seconds / kSizes, [&] { copy(ctx, from.tensor({numel}), to.tensor({numel})); });
    const auto moved = 2 * static_cast<double>(bytes);
    rates.push_back({moved, moved / times.best()});
  }
  return rates;
}

double copy_rate(const std::vector<CopyRate>& copies, double bytes) {
  auto next = std::find_if(copies.begin(), copies.end(), [&](const CopyRate& c) { return c.bytes >= bytes; });
  if (next == copies.end()) return copies.back().bytes_per_second;
  if (next == copies.begin()) return next->bytes_per_second;
  return std::max(next->bytes_per_second, std::prev(next)->bytes_per_second);
}

std::vector<KernelRate> measure_kernels(const RunConfig& config, Communicator& world, double seconds,
                                        const RankDevice& own) {
  const Mesh mesh(world, config.parallel, own);
  Trainer trainer(config, mesh);
  const Step step = first_block_of(synthetic_step(config, mesh.dp().rank(), mesh.dp().size()));
  OpTrace trace{.calls = {}, .keeps_ops = true, .ops = {}};
  Context& ctx = trainer.replica().context();
  ctx.set_trace(&trace);
  trainer.step_on(step, /*lr=*/1e-4);
  ctx.set_trace(nullptr);
  const std::vector<Kind> kinds = kinds_of(trace.ops);
  const auto alone = make_single_communicator();
  std::vector<KernelRate> rates;
  for (const Kind& kind : kinds) {
    const Times times =
        repeat_in_batches(*alone, ctx, seconds / static_cast<double>(kinds.size()), [&] { kind.first.again(ctx); });
    rates.push_back({kind.first.name, kind.calls, kind.first.cost, times.best(), times.median()});
  }
  world.barrier();  // other ranks may still use the communicators that are destroyed next
  return rates;
}

}  // namespace weft
