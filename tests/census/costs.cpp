// tests/census/costs.cpp: prints what the kernels of a training step cost, counted by the interpreter of their PTX
// (tests/emulation/ptx/costs.h): instructions, how well they access memory, and loads that wait for one another.
//
//   costs --config FILE [--section.key=value ...]       with WEFT_CUDA_MODULE and WEFT_EMULATION_PTX
//
// Rows are as wide as the file's, so that warps have the addresses that they have in training; layers and rows are few.
// The exit status is 1 if a kernel moves more than kMaxMoved times what it needs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "launch/options/run_options.h"
#include "tensor/context.h"
#include "tests/emulation/ptx/library.h"
#include "tests/prediction/kernel_costs.h"
#include "tests/prediction/op_time.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/step/dry_step.h"
#include "trainer/trainer.h"

namespace {

using namespace weft;
using emulation::ptx::Counts;
using emulation::ptx::Library;

constexpr int64_t kRows = 96, kVocabulary = 20480;
constexpr double kMachineCode = 1.1;  // instructions of it, over those that issue_slots() estimates
constexpr double kMaxMoved = 1.1;

// Instructions of a thread, and the elements that they process.
struct Predicted {
  double elements = 0, instructions = 0;
};
using PredictedKernels = std::map<std::string, Predicted>;  // by the name in kernel_costs()

PredictedKernels predicted_kernels(const RunConfig& config, Step& step) {
  PredictedKernels all;
  const StepOps ops = step_ops(config, step.blocks.front(), Device::cuda);
  for (const auto* of_part : {&ops.block, &ops.step})
    for (const OpTrace::Op& op : *of_part)
      for (const std::string_view name : cost_names_of(op))
        for (const KernelCost& cost : kernel_costs()) {
          if (cost.op != name || cost.instructions == 0) continue;
          Predicted& kernel = all[std::string(cost.kernel)];
          kernel.elements += elements_of(op, cost);
          kernel.instructions += elements_of(op, cost) * cost.instructions;
        }
  return all;
}

PredictedKernels run_step(RunConfig config) {
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
  Step step = synthetic_step(config, 0, 1);
  trainer.replica().context().synchronize();
  Library::chosen()->measure_costs();
  trainer.step_on(step, /*lr=*/0);
  trainer.replica().context().synchronize();
  return predicted_kernels(config, step);
}

// "norm_forward" of norm_forward<1, BFloat16>, "UpdateGroup" of for_each_group<UpdateGroup<AdamRule, BFloat16> >.
std::string short_name(std::string kernel) {
  constexpr std::string_view kEachGroup = "for_each_group<";
  if (kernel.starts_with(kEachGroup)) kernel.erase(0, kEachGroup.size());
  return kernel.substr(0, kernel.find_first_of("<>"));
}

double ratio(const Counts::Share& share) {
  return share.needed == 0 ? 0 : static_cast<double>(share.moved) / static_cast<double>(share.needed);
}
std::string text(const Counts::Share& share) { return share.needed == 0 ? "-" : fmt::format("{:.2f}", ratio(share)); }

void print_heading() {
  fmt::print(
      "# moved over needed: sectors of global memory, counted once a block and for each access of a warp, and\n");
  fmt::print(
      "# cycles of shared memory. chain: loads of a block that wait for one another. instr.: of a thread, for\n");
  fmt::print("# each element that tests/prediction/kernel_costs.cpp names; table: the number there\n");
  fmt::print("#   once a block      each access   shared   chain   instr.   table   kernel\n");
  fmt::print("#  loads  stores    loads  stores\n");
}

// Prints a line per kernel. Returns the number of kernels that move too much.
int print(const PredictedKernels& predicted) {
  int wasteful = 0;
  std::map<std::string, double> issued;
  for (const auto& [kernel, executed] : Library::chosen()->counts())
    issued[short_name(kernel)] += executed.counts.issued;
  for (const auto& [kernel, executed] : Library::chosen()->counts()) {
    const Counts& c = executed.counts;
    if (c.issued == 0) continue;  // ran only before the step
    const auto found = predicted.find(short_name(kernel));
    std::string counted = "-", expected = "-";
    if (found != predicted.end()) {
      const auto [elements, instructions] = found->second;
      counted = fmt::format("{:.1f}", kMachineCode * emulation::ptx::kLanes * issued[short_name(kernel)] / elements);
      expected = fmt::format("{:.1f}", instructions / elements);
    }
    const double chain = static_cast<double>(c.load_chains) / static_cast<double>(c.blocks);
    fmt::print("{:>8}{:>8} {:>8}{:>8} {:>8} {:>7.1f} {:>8} {:>7}   {}\n", text(c.loads), text(c.stores),
               text(c.loads_at_once), text(c.stores_at_once), text(c.shared), chain, counted, expected, kernel);
    const double most = std::max({ratio(c.loads), ratio(c.stores), ratio(c.shared)});
    if (most <= kMaxMoved) continue;
    fmt::print(stderr, "{} moves {:.2f} times what it needs; the limit is {}\n", kernel, most, kMaxMoved);
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
    if (Library::chosen() == nullptr) fail(ErrorKind::usage, "WEFT_EMULATION_PTX names no folder with PTX");
    config.parallel = resolve_grid(config.parallel, 1);
    const PredictedKernels predicted = run_step(config);
    print_heading();
    return print(predicted) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "costs: {}\n", error.what());
    return 1;
  }
}
