// tests/census/traffic.cpp: prints how well the kernels of a training step access memory: sectors of global memory and
// cycles of shared memory, moved over needed (tests/emulation/runtime/traffic.h).
//
//   traffic --config FILE [--section.key=value ...]       with WEFT_CUDA_MODULE=.../libweft_cuda_traced.so
//
// Rows are as wide as the file's, so that warps have the addresses that they have in training; layers and rows are few.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "launch/options/config_io.h"
#include "tensor/context.h"
#include "tests/emulation/runtime/traffic.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/trainer.h"

namespace {

using namespace weft;
using emulation::Traffic;

constexpr int64_t kRows = 96, kVocabulary = 20480;

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
  trainer.step_on(synthetic_step(config, 0, 1));
  trainer.replica().context().synchronize();
}

std::string ratio(const Traffic::Share& share) {
  if (share.needed == 0) return "-";
  return fmt::format("{:.2f}", static_cast<double>(share.moved) / static_cast<double>(share.needed));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    RunConfig config;
    bool unused = false;
    if (!read_run_config({argv + 1, argv + argc}, config, unused)) return 0;
    config.parallel = resolve_grid(config.parallel, 1);
    run_step(config);
    fmt::print("# moved over needed: sectors of loads and stores, cycles of shared memory\n");
    fmt::print("#  loads  stores  shared   kernel\n");
    for (const auto& [kernel, t] : emulation::traffic())
      fmt::print("{:>8}{:>8}{:>8}   {}\n", ratio(t.loads), ratio(t.stores), ratio(t.shared), kernel);
  } catch (const std::exception& error) {
    fmt::print(stderr, "traffic: {}\n", error.what());
    return 1;
  }
}
