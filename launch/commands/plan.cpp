// launch/commands/plan.cpp: `weft plan` predicts time, memory and efficiency of a run on a cluster, for each grid.
#include <cstdio>

#include "launch/commands.h"
#include "launch/options/options.h"
#include "launch/reports/plan_report.h"
#include "tensor/error.h"
#include "trainer/config/config_text.h"
#include "trainer/plan/update_options.h"

namespace weft {
namespace {

constexpr char kPlanUsage[] =
    R"(plan [--config FILE] --machine FILE --ranks N [options]

For each dp x tp grid of N ranks, predicts the memory per rank, the time of a step, target tokens per second, the
efficiency compared with N independent ranks, the duration of the run and the largest cost. The best grid comes
first, and its step is also shown in parts. The command measures nothing, so it needs neither a GPU nor a corpus.

  weft plan --config configs/base.cfg --machine configs/machines/h200-400g.cfg --ranks 64
      --tokens-per-rank 25000                      25,000 target tokens per GPU and step, 1.6 million in all
  weft plan ... --variants                         gradients in f32 and bf16, optimizer replicated and sharded
  weft plan ... --network.bandwidth=25e9           any constant of the machine, or option of model, batch, train

  weft launch -n 2 bench --machine > here.cfg      writes a machine file by measuring this machine

Predictions are estimates (docs/hardware/plan.md). The output shows whether each constant of the machine was measured,
given, assumed or fitted.)";

struct PlanOptions {
  PlanRequest request;
  std::string config_file, machine_file;
  int64_t vocabulary = 0;
  bool variants = false, json = false;
};

bool parse(const std::vector<std::string>& args, PlanOptions& o, bool require_files) {
  Options options(kPlanUsage);
  options.add("config", o.config_file, ".cfg file of a run; options on the command line override it");
  options.add("machine", o.machine_file, ".cfg file of a machine; configs/machines contains examples");
  options.add("ranks", o.request.ranks, "total number of ranks: GPUs, or processes on CPU machines");
  options.add("tp", o.request.tp, "show only grids with this number of tensor-parallel ranks; 0 = all grids");
  options.add("tokens-per-rank", o.request.tokens,
              "target tokens per step and rank, in full blocks; 0 = a step of --config, divided among the ranks");
  options.add("target-tokens", o.request.target_tokens,
              "total target tokens of the run; 0 = train.tokens, or train.steps full steps");
  options.add("vocabulary", o.vocabulary, "size of each vocabulary; 0 = size in --config, or 32768 without --config");
  options.add("valid-sentences", o.request.valid_sentences, "sentences in the validation set, if the run has one");
  options.add("variants", o.variants, "compare both values of parallel.zero and of parallel.gradient_type");
  options.add("json", o.json, "print JSON");
  options.section("model", o.request.config.model);
  options.section("batch", o.request.config.batch);
  ParallelConfig& parallel = o.request.config.parallel;
  options.add("parallel.zero", parallel.zero,
              "0 = each rank updates all parameters; 1 = each dp rank updates a share of the parameters (ZeRO)");
  options.add("parallel.gradient_type", parallel.gradient_type,
              "type in which ranks exchange gradients: f32 or bf16; in training, bf16 also needs parallel.zero = 1");
  options.add("parallel.sequence", parallel.sequence,
              "sequence parallelism: tensor-parallel ranks also split the rows of norms, residual sums and dropout");
  options.section("train", o.request.config.train);
  options.sections(o.request.machine);
  options.show_first({"config", "machine", "ranks", "tp", "tokens-per-rank", "target-tokens", "variants", "json"});
  if (!options.parse(args)) return false;
  if (!require_files) return true;
  options.require("machine");
  options.require("ranks");
  return true;
}

std::vector<GradientExchange> exchanges_of(const PlanOptions& o) {
  if (!o.variants) return {exchange_of(o.request.config.parallel)};
  return {{.sharded = false, .wire = DType::f32},
          {.sharded = true, .wire = DType::f32},
          {.sharded = false, .wire = DType::bf16},
          {.sharded = true, .wire = DType::bf16}};
}

void check(const PlanOptions& o) {
  if (o.vocabulary < 0) fail(ErrorKind::usage, fmt::format("--vocabulary must be at least 0, but is {}", o.vocabulary));
  const int64_t zero = o.request.config.parallel.zero;
  if (zero != 0 && zero != 1) fail(ErrorKind::usage, fmt::format("--parallel.zero must be 0 or 1, but is {}", zero));
  check_optimizer(o.request.config);
  if (const OptimizerKind kind = o.request.config.optimizer.kind; o.variants && kind != OptimizerKind::adam)
    fail(ErrorKind::usage,
         fmt::format("--variants needs an optimizer that can be sharded, but optimizer.kind = {} cannot: use adam",
                     name_of_enum(kind)));
}

}  // namespace

int run_plan(const CommandContext& context) {
  PlanOptions found, options;
  if (!parse(context.args, found, /*require_files=*/true)) return 0;
  if (!found.config_file.empty()) apply_cfg_file(found.config_file, options.request.config);
  std::vector<Field> fields = fields_of(options.request.machine);
  apply_cfg_file(found.machine_file, fields, "plan");
  parse(context.args, options, /*require_files=*/false);
  check(options);
  ModelConfig& model = options.request.config.model;
  if (options.vocabulary > 0) model.source_vocabulary = model.target_vocabulary = options.vocabulary;
  options.request.exchanges = exchanges_of(options);
  const ClusterPlan plan = plan_cluster(options.request);
  std::fputs((options.json ? plan_json(plan) : plan_text(plan)).c_str(), stdout);
  return 0;
}

}  // namespace weft
