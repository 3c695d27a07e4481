// tests/census/census.cpp: prints what the emulated device does in a training step: kernels, calls of cuBLASLt and
// NCCL, copies, and waits of the host.
//
//   census --config FILE [--section.key=value ...]
//
// The model has the file's depth and options, but a head for each tensor-parallel rank, few rows and a small
// vocabulary, which change sizes and not what is called. A block's share is the difference between a step of two
// blocks and a step of one; the rest is what a step adds. Each rank is a thread with a device; rank 0's is shown.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launch/options/run_options.h"
#include "tensor/context.h"
#include "tests/emulation/runtime/census.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/trainer.h"

namespace {

using namespace weft;
using emulation::Census;
using emulation::Count;

constexpr int64_t kRows = 32, kVocabulary = 256;

RunConfig shrink(RunConfig c) {
  const int64_t narrower = c.model.heads / c.parallel.tp;  // heads keep their size, which chooses kernels
  c.model.width /= narrower, c.model.heads /= narrower, c.model.feed_forward /= narrower;
  c.model.source_vocabulary = c.model.target_vocabulary = kVocabulary;
  c.batch.rows = c.batch.source_rows = kRows;
  c.train.precision = Precision::bf16;
  return c;
}

Count operator-(const Count& a, const Count& b) { return {a.calls - b.calls, a.bytes - b.bytes}; }

Census difference(const Census& a, const Census& b) {
  Census result;
  for (const Census* names : {&a, &b})
    for (const auto& [name, unused] : *names) {
      const auto of = [&](const Census& c) { return c.contains(name) ? c.at(name) : Count{}; };
      if (of(a) != of(b)) result[name] = of(a) - of(b);
    }
  return result;
}

Census census_of_step(RunConfig config, int64_t blocks) {
  Census result;
  run_thread_ranks(static_cast<int>(config.parallel.dp * config.parallel.tp), [&](Communicator& world) {
    RunConfig mine = config;
    mine.batch.blocks = mine.parallel.dp;
    const RankDevice own = choose_device(DeviceChoice::cuda, /*share_gpu=*/false, world);
    mine = resolve_bench(mine, world, own);
    const Mesh mesh(world, mine.parallel, own);
    Trainer trainer(mine, mesh);
    Context& ctx = trainer.replica().context();
    Step step = synthetic_step(mine, mesh.dp().rank(), mesh.dp().size());
    step.blocks.resize(static_cast<size_t>(blocks), step.blocks.front());  // copies of one, so that they do the same
    for (int i = 0; i < 2; ++i) trainer.step_on(step, /*lr=*/0);           // these are never replayed
    ctx.synchronize();
    const Census before = emulation::census(own.index);
    trainer.step_on(step, /*lr=*/0);
    const Census waited = emulation::census(own.index);  // before the wait below is one of the counts
    ctx.synchronize();
    Census after = emulation::census(own.index);
    for (auto& [name, count] : after)
      if (name.starts_with("wait")) count = waited.contains(name) ? waited.at(name) : Count{};
    if (world.rank() == 0) result = difference(after, before);
    world.barrier();
  });
  return result;
}

// A line for each row of census.txt: calls in a block and what a step adds, such as "2+1", and likewise for bytes.
void print(const Census& block, const Census& step) {
  std::map<std::string, std::pair<int64_t, int64_t>> rows;
  for (const auto& [name, count] : block) rows[name].first = count.calls, rows[name + ", bytes"].first = count.bytes;
  for (const auto& [name, count] : step) rows[name].second = count.calls, rows[name + ", bytes"].second = count.bytes;
  for (const auto& [name, row] : rows) {
    const auto& [b, s] = row;
    if (b != 0 || s != 0) fmt::print("{:<9} {}\n", s == 0 ? fmt::to_string(b) : fmt::format("{}{:+}", b, s), name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    RunConfig config;
    bool unused = false;
    if (!read_run_config({argv + 1, argv + argc}, config, unused)) return 0;
    config.parallel =
        resolve_grid(config.parallel, static_cast<int>(std::max<int64_t>(config.parallel.dp, 1) * config.parallel.tp));
    config = shrink(config);
    setenv("WEFT_EMULATION_DEVICES", std::to_string(config.parallel.dp * config.parallel.tp).c_str(), 1);
    const Census one = census_of_step(config, 1), two = census_of_step(config, 2);
    const Census block = difference(two, one);
    print(block, difference(one, block));
  } catch (const std::exception& error) {
    fmt::print(stderr, "census: {}\n", error.what());
    return 1;
  }
}
