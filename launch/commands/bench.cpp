// launch/commands/bench.cpp: `weft bench` measures the training speed of this machine.
#include <cstdio>

#include "launch/commands.h"
#include "launch/options/options.h"
#include "launch/reports/bench_report.h"
#include "parallel/placement/placement.h"
#include "tensor/error.h"
#include "trainer/cluster/measured_machine.h"
#include "trainer/config/config_text.h"

namespace weft {
namespace {

constexpr char kUsage[] =
    R"(bench [--config FILE] [options]

Measures this machine's training speed for about 20 seconds, without a corpus:
  peak             FLOP/s of the processor's multiply-add instructions on all threads, or of a GPU's
                   fastest square matrix product
  matrix products  FLOP/s of the matrix products in the model's layers, also as a percentage of the peak
  ops              GB/s of every other op of a block, compared with a copy of the same size
  a step           time of the forward and backward pass, the optimizer and each part of the model, for sentences
                   as long as in news text
  tokens/s, MFU    target tokens per second, and the model's FLOP/s as a percentage of the peak
  all-reduce       GB/s between several ranks

  weft bench                                       the base model, one block of 1536 rows per rank
  weft bench --config configs/big.cfg              the model and blocks of a run
  weft bench --model.width=256 --precision f32     any option of model, batch and parallel
  weft launch -n 2 bench --parallel.tp=2 --json    two ranks, as JSON (docs/hardware/bench.md)
  weft launch -n 2 bench --machine > here.cfg      a machine file for `weft plan` (docs/hardware/plan.md)

Run the command on an idle machine. It prints a warning if the machine was too busy for reliable numbers.)";

struct BenchOptions {
  RunConfig config;
  int64_t vocabulary = 0;
  double seconds = 20;
  bool json = false, machine = false;
};

BenchOptions without_a_file() {
  BenchOptions options;
  options.config.batch.rows = kBenchRows;
  options.config.batch.blocks = 0;
  return options;
}

bool parse(const std::vector<std::string>& args, std::string& file, BenchOptions& into) {
  Options options(kUsage);
  options.add("config", file, ".cfg file of a run; options on the command line override it");
  options.add("device", into.config.device, kDeviceSentence);
  options.add("precision", into.config.train.precision, "auto, f32, bf16 or f16, as in train.precision");
  options.add("cuda_graph", into.config.train.cuda_graph,
              "whether to replay steps as CUDA graphs on GPUs: auto, true or false; see train.cuda_graph");
  options.add("tune_gemm", into.config.train.tune_gemm,
              "on GPUs, measure the algorithms of each matrix product, and use the fastest; see train.tune_gemm");
  options.add("vocabulary", into.vocabulary, "size of each vocabulary; 0 = size in --config, or 8000 without --config");
  options.add("seconds", into.seconds, "total time for all measurements, in seconds; each of them runs at least once");
  options.add("json", into.json, "print JSON");
  options.add("machine", into.machine, "print the measurements as a .cfg file for `weft plan --machine`");
  options.show_first({"config", "device", "precision", "seconds", "json", "machine"});
  options.section("model", into.config.model);
  options.section("batch", into.config.batch);
  options.section("parallel", into.config.parallel);
  return options.parse(args);
}

void check(const BenchOptions& o) {
  if (o.vocabulary < 0) fail(ErrorKind::usage, fmt::format("--vocabulary must be at least 0, but is {}", o.vocabulary));
  if (o.machine && o.json)
    fail(ErrorKind::usage, "--machine prints a .cfg file, but --json prints JSON: give only one of them");
  if (o.machine && o.config.parallel.zero != 0)
    fail(ErrorKind::usage, "--machine needs ranks that each update all parameters: leave out --parallel.zero");
  if (o.seconds < 0) fail(ErrorKind::usage, fmt::format("--seconds must be at least 0, but is {}", o.seconds));
}

std::string machine_text(const BenchReport& report) {
  Machine machine = measured_machine(report);
  const RunConfig& c = report.config;
  return fmt::format(
      "# Measured by weft bench: {} rank{} of {} thread{}, width {}, {} + {} layers, {} rows, {}\n{}{}", report.ranks,
      report.ranks == 1 ? "" : "s", report.threads, report.threads == 1 ? "" : "s", c.model.width,
      c.model.encoder_layers, c.model.decoder_layers, c.batch.rows, print_value(c.train.precision),
      report.load.too_busy() ? "# Unreliable: the machine was too busy.\n" : "", fields_to_cfg(fields_of(machine)));
}

}  // namespace

int run_bench(const CommandContext& context) {
  std::string file;
  BenchOptions options = without_a_file();
  if (!parse(context.args, file, options)) return 0;
  if (!file.empty()) {
    options = {};
    apply_cfg_file(file, options.config);
    parse(context.args, file, options);
  }
  check(options);
  if (options.vocabulary > 0)
    options.config.model.source_vocabulary = options.config.model.target_vocabulary = options.vocabulary;
  Communicator& world = *context.world;
  const RankDevice own = choose_device(options.config.device, options.config.parallel.share_gpu, world);
  place_ranks(options.config.parallel.bind, own, world);
  const BenchReport report = measure_machine(resolve_bench(options.config, world, own), world, options.seconds, own);
  if (!world.is_main_rank()) return 0;
  const std::string text = options.machine ? machine_text(report)
                           : options.json  ? bench_json(report)
                                           : bench_text(report);
  std::fputs(text.c_str(), stdout);
  if (options.machine && report.load.too_busy()) print_note("weft: {}\n", report.load.warning());
  return 0;
}

}  // namespace weft
