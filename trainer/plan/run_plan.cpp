// trainer/plan/run_plan.cpp: writes the rows of the one-screen plan.
#include "trainer/plan/run_plan.h"

#include <algorithm>

#include "parallel/device_mesh.h"
#include "tensor/context.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"
#include "trainer/display/units.h"
#include "trainer/display/wrap.h"
#include "trainer/plan/data_plan.h"
#include "trainer/plan/open_data.h"
#include "trainer/plan/stop_notice.h"
#include "trainer/plan/update_options.h"
#include "trainer/precision.h"
#include "trainer/stages/mix_rates.h"

namespace weft {
namespace {

constexpr size_t kTextColumn = 15;

std::string describe_gpus(const RunConfig& c, const RankDevice& own) {
  const DeviceProperties gpu = device_properties(own.device);
  const bool alone = own.num_sharing == 1;
  std::string text = fmt::format("{} ({}){}", gpu.name, gpu.version,
                                 alone ? ", one per rank" : fmt::format(", up to {} ranks per GPU", own.num_sharing));
  if (!stages_through_host(own, c.parallel.communication) || c.parallel.dp * c.parallel.tp == 1) return text;
  text += ", all-reduces through host memory";
  if (c.parallel.communication == Communication::automatic && !own.without_nccl.empty())
    text += fmt::format(" ({})", own.without_nccl);
  return text;
}

std::string describe_model(const ModelConfig& c) {
  const std::string shared = c.num_kv_heads() == c.heads ? "" : fmt::format(" ({} for keys and values)", c.kv_heads);
  const std::string norm_kind =
      c.norm_kind == ModelConfig().norm_kind ? "" : fmt::format(" ({})", name_of_enum(c.norm_kind));
  return fmt::format("width {}, {} heads{}, feed-forward {} ({}), {} + {} layers, {}-norm{}{}, vocabulary {} / {}",
                     c.width, c.heads, shared, c.feed_forward, name_of_enum(c.activation), c.encoder_layers,
                     c.decoder_layers, name_of_enum(c.norm), norm_kind,
                     is_rotary(c.positions) ? ", rotary positions" : "", c.source_vocabulary, c.target_vocabulary);
}

std::string describe_consistency(const LossOptions& t) {
  if (t.consistency == Consistency::none) return "";
  const std::string cut = t.consistency == Consistency::rdrop
                              ? ""
                              : fmt::format(", the second without {:g} % of the tokens", 100 * t.cut_rate);
  return fmt::format(
      "{}: two passes over each block{}, with {:g} times their divergence in the loss; a step computes "
      "twice as much",
      name_of_enum(t.consistency), cut, t.weight);
}

struct PlanText {
  void row(const std::string& name, const std::string& text) {
    rows += fmt::format("  {:<{}} {}\n", name, kTextColumn - 3, text);
  }
  void add_model(const RunConfig& c, const ParamStore& params);
  void add_ranks(const RunConfig& c, const RankDevice& own, const PlacementReport& placement);
  void add_data(const ResolvedRun& run, bool mixed);
  void add_block(const ResolvedRun& run);
  void add_updates(const ResolvedRun& run);
  void add_memory(const RunConfig& c, const MemoryPlan& memory, bool mixed);

  std::string rows;
};

void PlanText::add_model(const RunConfig& c, const ParamStore& params) {
  const int64_t all = params.global_numel(), tables = vocabulary_numel(params);
  row("model", describe_model(c.model));
  row("parameters", fmt::format("{} ({} without vocabulary tables)", format_count(static_cast<double>(all)),
                                format_count(static_cast<double>(all - tables))));
  if (const int64_t trained = params.trainable_numel(); trained < all)
    row("trained",
        fmt::format("{} of them ({:.2g} %); the rest keeps its values ({})", format_count(static_cast<double>(trained)),
                    100 * static_cast<double>(trained) / static_cast<double>(all),
                    c.model.lora.on()
                        ? fmt::format("adapters of rank {} for {}: lora.rank", c.model.lora.rank, c.model.lora.targets)
                        : "train.freeze = " + c.train.freeze));
}

void PlanText::add_ranks(const RunConfig& c, const RankDevice& own, const PlacementReport& placement) {
  const int64_t ranks = c.parallel.dp * c.parallel.tp;
  row("grid", fmt::format("dp {} x tp {} = {} rank{}, {} thread{} each, {}{}", c.parallel.dp, c.parallel.tp, ranks,
                          ranks == 1 ? "" : "s", num_threads(), num_threads() == 1 ? "" : "s", cpu_description(),
                          placement.others.empty() ? "" : "; " + placement.others));
  if (own.device == Device::cuda) row("device", describe_gpus(c, own));
  if (!own.remark.empty() && has_nvidia_driver()) row("device", "CPUs: " + own.remark);
  if (!placement.placement.empty()) row("placement", placement.placement);
  if (!placement.network.empty()) row("network", placement.network);
  for (const std::string& warning : placement.warnings) row("warning", warning);
}

void PlanText::add_data(const ResolvedRun& run, bool mixed) {
  row("precision",
      fmt::format("{}{}", name_of(storage_of(run.config.train.precision)),
                  mixed ? " activations and matmuls; weights, gradients, moments and sums in f32" : " throughout"));
  for (const auto& [name, text] : describe_data(run)) row(name, text);
  if (const std::string sets = describe_validation_sets(run.valid); !sets.empty()) row("validation", sets);
  for (const std::string& warning : describe_unknown_tokens(run)) row("warning", warning);
  add_block(run);
}

void PlanText::add_block(const ResolvedRun& run) {
  int64_t longest_source = 0, longest_target = 0;
  const BatchConfig& batch = run.config.batch;
  std::string too_long;
  for (const Stage& stage : run.stages)
    for (const MixCorpus& corpus : stage.corpora) {
      longest_source = std::max(longest_source, corpus.manifest().longest_source);
      longest_target = std::max(longest_target, corpus.manifest().longest_target);
      if (const double share = share_too_long(*corpus.opened, batch); share > 0)
        too_long += fmt::format("; {:.3g} % of the pairs of {} do not fit into a block and are left out (batch.rows)",
                                100 * share, corpus.folder);
    }
  row("block", fmt::format("{} source x {} target rows; longest pair {} x {} tokens{}", batch.source_rows, batch.rows,
                           longest_source, longest_target, too_long));
  row("step",
      fmt::format("{} block{}, {} target rows{}{}", batch.blocks, batch.blocks == 1 ? "" : "s",
                  batch.rows * batch.blocks,
                  batch.tokens > 0 ? fmt::format(" for batch.tokens = {}", batch.tokens) : "", describe_epoch(run)));
  if (const std::string idle = describe_idle_ranks(run.config); !idle.empty()) row("", idle);
}

void PlanText::add_updates(const ResolvedRun& run) {
  const RunConfig& c = run.config;
  const int64_t steps = steps_of_run(c, run.stages);
  const std::string length = c.train.steps > 0
                                 ? fmt::format("{} steps", steps)
                                 : fmt::format("{}, about {} steps", describe_end(run.stages.front().end), steps);
  row("schedule",
      fmt::format("{}{}, {}", length, c.train.minutes > 0 ? fmt::format(" or {} minutes", c.train.minutes) : "",
                  describe_schedule(c.schedule, steps)));
  if (const std::string text = describe_fall_by_clock(c); !text.empty()) row("", text);
  if (const std::string text = describe_optimizer(c); !text.empty()) row("optimizer", text);
  if (const std::string text = describe_consistency(c.train.loss_options()); !text.empty()) row("consistency", text);
  if (const std::string options = describe_options_without_effect(c); !options.empty())
    row("no effect", options + ": these options are for other kinds of schedule or optimizer");
  if (!validates(c) && (c.train.keep_best != TrainConfig().keep_best || c.train.keep_best_checkpoints != 1))
    row("no effect", "train.keep_best options: the run has no validations (set data.valid and train.validate_every)");
}

void PlanText::add_memory(const RunConfig& c, const MemoryPlan& memory, bool mixed) {
  row("memory", describe(memory, name_of(storage_of(c.train.precision))));
  if (c.parallel.zero > 0 && c.parallel.dp > 1)
    row("", fmt::format("{} less per rank because moments{} are sharded over dp (parallel.zero)",
                        format_bytes(memory.less_by_shards), mixed ? " and f32 weights" : ""));
  if (c.parallel.gradient_type != GradientType::f32 && c.parallel.dp > 1)
    row("",
        fmt::format("gradients are sent in {}, which needs up to 2 more bytes per parameter (parallel.gradient_type)",
                    name_of_enum(c.parallel.gradient_type)));
  if (c.parallel.sequence && c.parallel.tp > 1)
    row("", fmt::format("each rank keeps 1/{} of the rows between tensor-parallel layers (parallel.sequence)",
                        c.parallel.tp));
  if (c.train.recompute) row("", "activations are kept for only one layer at a time (train.recompute)");
  if (c.train.cuda_graph != CudaGraph::off) row("", "a block's work is replayed as a CUDA graph (train.cuda_graph)");
  if (c.train.tune_gemm) row("", "matrix products are timed before the first step (train.tune_gemm)");
}

}  // namespace

int64_t vocabulary_numel(const ParamStore& params) {
  int64_t n = 0;
  for (const Param& p : params.params())
    if (p.spec.pad && p.spec.shape.rank() == 2) n += p.spec.shape.numel();
  return n;
}

std::string describe_idle_ranks(const RunConfig& c) {
  const int64_t dp = c.parallel.dp, most = (c.batch.blocks + dp - 1) / dp, without = most * dp - c.batch.blocks;
  if (without == 0) return "";
  return fmt::format(
      "{} of {} data-parallel ranks have {} while the rest have {}, so only {:.0f} % of the ranks' time is used",
      without, dp, most == 1 ? "no block" : fmt::format("{} block{}", most - 1, most == 2 ? "" : "s"), most,
      100.0 * static_cast<double>(c.batch.blocks) / static_cast<double>(most * dp));
}

std::string plan_for_screen(const std::string& plan) { return wrap_lines(plan, kTextColumn, output_columns()); }

std::string describe_plan(const ResolvedRun& run, const ParamStore& params, const MemoryPlan& memory,
                          const RankDevice& own, const PlacementReport& placement) {
  PlanText text;
  text.add_model(run.config, params);
  text.add_ranks(run.config, own, placement);
  text.add_data(run, params.mixed());
  text.add_updates(run);
  text.add_memory(run.config, memory, params.mixed());
  text.row("output", run.config.train.output);
  if (const std::string notice = stop_notice(); !notice.empty()) text.row("signals", notice);
  return text.rows;
}

}  // namespace weft
