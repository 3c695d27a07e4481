// tests/census/traffic.cpp: prints how well the kernels of a training step access memory: sectors of global memory and
// cycles of shared memory, moved over needed (tests/emulation/runtime/traffic.h).
//
//   traffic --config FILE [--section.key=value ...]       with WEFT_CUDA_MODULE=.../libweft_cuda_traced.so
//
// Rows are as wide as the file's, so that warps have the addresses that they have in training; layers and rows are few.
// The exit status is 1 if a kernel moves more than kMax times what it needs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "launch/options/run_options.h"
#include "tensor/context.h"
#include "tests/emulation/runtime/traffic.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/trainer.h"

namespace {

using namespace weft;
using emulation::Traffic;

constexpr int64_t kRows = 96, kVocabulary = 20480;
constexpr double kMax = 1.1;

void run_step(RunConfig config) {
  config.model.encoder_layers = config.model.decoder_layers = 1;
  config.model.source_vocabulary = config.model.target_vocabulary = kVocabulary;
  config.batch.rows = config.batch.source_rows = kRows;
  config.batch.blocks = 1;
  config.train.precision = Precision::bf16;
  const auto world = make_single_communicator();
  const RankDevice own = choose_device(DeviceChoice::cuda, /*share_gpu=*/false, *world);
  config = resolve_bench(config, *world, own);
  const Mesh mesh(*world, config.parallel, own);
  Trainer trainer(config, mesh);
  trainer.step_on(synthetic_step(config, 0, 1), /*lr=*/0);
  trainer.replica().context().synchronize();
}

double ratio(const Traffic::Share& share) {
  return share.needed == 0 ? 0 : static_cast<double>(share.moved) / static_cast<double>(share.needed);
}
std::string text(const Traffic::Share& share) { return share.needed == 0 ? "-" : fmt::format("{:.2f}", ratio(share)); }

// Prints the table; the number of kernels that move too much.
int print(const std::map<std::string, Traffic>& all) {
  fmt::print("# moved over needed: sectors of global memory, counted once a block and for each access of a warp;\n");
  fmt::print("# cycles of shared memory\n");
  fmt::print("#   once a block      each access   shared   kernel\n");
  fmt::print("#  loads  stores    loads  stores\n");
  int wasteful = 0;
  for (const auto& [kernel, t] : all) {
    fmt::print("{:>8}{:>8} {:>8}{:>8} {:>8}   {}\n", text(t.loads), text(t.stores), text(t.loads_at_once),
               text(t.stores_at_once), text(t.shared), kernel);
    const double most = std::max({ratio(t.loads), ratio(t.stores), ratio(t.shared)});
    if (most <= kMax) continue;
    fmt::print(stderr, "{} moves {:.2f} times what it needs; the limit is {}\n", kernel, most, kMax);
    ++wasteful;
  }
  return wasteful;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    RunConfig config;
    bool unused = false;
    if (!read_run_config({argv + 1, argv + argc}, config, unused)) return 0;
    config.parallel = resolve_grid(config.parallel, 1);
    run_step(config);
    return print(emulation::traffic()) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "traffic: {}\n", error.what());
    return 1;
  }
}
