// trainer/cluster/grid_step.cpp: predicts the time of a step from a rank's ops and collectives.
#include "trainer/cluster/grid_step.h"

#include <algorithm>
#include <cmath>

#include "data/order/step_plan.h"
#include "model/transformer.h"
#include "parallel/planned_group.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/cluster/collective_time.h"
#include "trainer/cluster/timeline.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/step/dry_step.h"
#include "trainer/step/step_totals.h"

namespace weft {
namespace {

using Op = OpTrace::Op;

constexpr double kPlannedRows = 4096;  // rows of the block to which processor.planner refers

// Predicts the times of a rank's ops and collectives.
class RankTimes {
 public:
  RankTimes(const Machine& m, const RunConfig& c)
      : m_(m), dp_(dp_group(m, c.parallel.dp, c.parallel.tp)), tp_(tp_group(m, c.parallel.tp)) {
    sharing_ = ranks_of_core(c.parallel.dp);
    const int64_t with_most = (c.batch.blocks - 1) % c.parallel.dp + 1;  // the other dp ranks have one block fewer
    last_share_ = ranks_of_core(with_most) / sharing_;
  }

  const Group& dp() const { return dp_; }

  // Returns the time of the busiest rank's blocks, divided by the time of a block while all ranks compute. The last
  // block is faster if ranks share cores and other ranks have no block left.
  double passes(int64_t blocks) const { return static_cast<double>(blocks - 1) + last_share_; }

  double start_of_block() const { return sharing_ * m_.processor.block_seconds; }

  // Returns the seconds that a computation or a collective over tp takes.
  double seconds(const Op& op) const {
    if (is_tp_collective(op.name)) return tp_sum(op);
    return sharing_ * op.cost.flops / m_.processor.flops;
  }

  double update(const Op& op) const {
    if (op.cost.flops > 0) return seconds(op);  // Muon's matrix products
    return sharing_ * op.cost.bytes / m_.processor.update_bandwidth;
  }

  // Returns the seconds in which a rank converts gradients to the wire type, and its own gradients back to f32.
  double casts(double parameters, const GradientExchange& exchange) const {
    if (exchange.wire == DType::f32 || dp_.ranks == 1) return 0;
    const double updated = exchange.sharded ? parameters / static_cast<double>(dp_.ranks) : parameters;
    const double sent =
        exchange.sharded && has_levels(dp_) ? parameters / static_cast<double>(dp_.of_node) : parameters;
    const double bytes = (sent + updated) * static_cast<double>(sizeof(float) + size_of(exchange.wire));
    return sharing_ * bytes / m_.processor.update_bandwidth;
  }

  double gradients(double bytes, bool sharded) const {
    return sharing_ * (sharded ? reduce_scatter_seconds(m_, dp_, bytes) : all_reduce_seconds(m_, dp_, bytes));
  }
  double rounded_gradients(double bytes, double rounded) const {
    return sharing_ * rounded_scatter_seconds(m_, dp_, bytes, rounded);
  }
  double weights(double bytes) const { return sharing_ * all_gather_seconds(m_, dp_, bytes); }

  // Returns the seconds in which ranks exchange Muon's updates. GPUs send all parts at the same time, but CPUs send the
  // parts one after the other (Communicator::all_gather_v).
  double exchange(const Op& op) const {
    if (is_tp_collective(op.name)) return tp_sum(op);
    if (m_.is_gpu()) return weights(op.cost.bytes);
    double seconds = 0;
    for (const OpTrace::Operand& part : op.operands)
      seconds += sharing_ * broadcast_seconds(m_, dp_, static_cast<double>(part.tensor.bytes()));
    return seconds;
  }

 private:
  // Returns the number of ranks per core while `dp_ranks` dp ranks compute.
  double ranks_of_core(int64_t dp_ranks) const {
    if (m_.node.cores == 0) return 1;
    const auto ranks = static_cast<double>(std::min(dp_ranks * tp_.ranks, m_.node.ranks));
    return std::max(1.0, ranks / static_cast<double>(m_.node.cores));
  }

  double tp_sum(const Op& op) const {
    if (op.name == std::string_view(kTpAllReduce)) return sharing_ * all_reduce_seconds(m_, tp_, op.cost.bytes);
    if (op.name == std::string_view(kTpReduceScatter)) return sharing_ * reduce_scatter_seconds(m_, tp_, op.cost.bytes);
    return sharing_ * all_gather_seconds(m_, tp_, op.cost.bytes * static_cast<double>(tp_.ranks));
  }

  const Machine& m_;
  Group dp_, tp_;
  double sharing_ = 1;     // ranks per core
  double last_share_ = 1;  // time of a rank's last block relative to its other blocks
};

// The ranks gather the weights bucket by bucket during the next forward pass. The pass starts after the first bucket.
// At its end, the pass waits for the buckets that are still missing.
Timeline gather_beside(double forward, double gather, int64_t buckets, double lost) {
  if (gather == 0 || buckets == 0) return {};
  const double first = gather / static_cast<double>(buckets), hidden = std::min(gather - first, forward);
  return {.dp = gather, .exposed = gather - hidden, .slowed = lost * hidden};
}

struct Parameters {  // of the whole model
  int64_t all = 0, trained = 0;
};

// Training waits while a save copies tensors from a GPU. The next save waits until the files have been written.
double save_seconds(const Machine& m, const RunConfig& c, const Parameters& parameters, double step) {
  if (c.train.save_every == 0) return 0;
  const auto trained = static_cast<double>(parameters.trained), all = static_cast<double>(parameters.all);
  const double numbers = 3 * trained + (c.model.lora.on() ? 0 : all - trained);  // checkpoints lack an adapted model
  const double bytes = sizeof(float) * numbers, ranks = static_cast<double>(c.parallel.dp * c.parallel.tp);
  const double copy = m.processor.copy_bandwidth > 0 ? bytes / ranks / m.processor.copy_bandwidth : 0;
  const double interval = static_cast<double>(c.train.save_every) * step;
  const double late = std::max(0.0, bytes / m.disk.bandwidth - interval);
  return (copy + late) / static_cast<double>(c.train.save_every);
}

double validation_seconds(const Machine& m, const RunConfig& c, double forward, int64_t sentences, double tokens) {
  if (!validates(c)) return 0;
  constexpr double kTokensOfSentence = 28;  // as in the synthetic blocks, with eos
  const auto all = static_cast<double>(sentences), dp = static_cast<double>(c.parallel.dp);
  const double blocks = std::ceil(all * kTokensOfSentence / tokens / dp);
  const double translated = c.train.validate_bleu < 0 ? all : std::min(all, double(c.train.validate_bleu));
  const double seconds = blocks * forward + std::ceil(translated / dp) / m.processor.sentences;
  return seconds / static_cast<double>(c.train.validate_every);
}

Parameters whole_parameters(const RunConfig& c) {
  ParamStore params(0, 1, DType::f32, Device::cpu, ParamUse::training, frozen_names(c));
  const Transformer model(c.model, params, /*num_positions=*/1);
  return {.all = params.global_numel(), .trained = params.trainable_numel()};
}

// Contains a rank's ops and predicts their times.
struct Work {
  const Machine& machine;
  RunConfig config;
  GradientExchange exchange;
  int64_t sentences, blocks;  // sentences of the validation set; maximum number of blocks per rank
  Step data;                  // one block
  StepOps ops;
  RankTimes times;
  std::vector<TimedOp> block;  // one block without gradients
  double forward = 0;          // forward pass of a block
  size_t memory;
  Parameters parameters;

  Work(const Machine& m, const RunConfig& c, const GradientExchange& e, int64_t valid_sentences)
      : machine(m),
        config(c),
        exchange(e),
        sentences(valid_sentences),
        blocks(blocks_of_rank(c.batch.blocks, 0, static_cast<int>(c.parallel.dp)).count),
        data(one_block(c)),
        ops(step_ops(c, data.blocks.front(), Device::cpu)),
        times(m, c),
        memory(memory_of(m, c, valid_sentences)),
        parameters(whole_parameters(c)) {
    block.push_back(
        {.kind = TimedKind::compute, .seconds = times.start_of_block() * c.train.loss_options().num_passes()});
    bool in_forward = true;
    for (const Op& op : ops.block) {
      const auto kind = is_tp_collective(op.name) ? TimedKind::tp : TimedKind::compute;
      block.push_back({.kind = kind, .seconds = times.seconds(op)});
      in_forward = in_forward && op.name != std::string_view("cross_entropy") &&
                   op.name != std::string_view("consistency_stats");
      if (in_forward) forward += block.back().seconds / c.train.loss_options().num_passes();
    }
  }

  static size_t memory_of(const Machine& m, const RunConfig& c, int64_t valid_sentences) {
    const auto group = make_planned_group(static_cast<int>(c.parallel.tp));
    const MemoryPlan plan = plan_memory_of(c, assumed_data(c, valid_sentences), TensorParallel(*group));
    return m.is_gpu() ? plan.tensors_of_gpu() : plan.total();
  }
  static Step one_block(RunConfig c) {
    c.batch.blocks = 1;
    return synthetic_step(c, 0, 1);
  }

  // With a sharded optimizer, only matrices use the wire type. Each rank has all vectors, whose gradients stay in f32.
  bool is_rounded(const Op& op) const {
    return exchange.wire != DType::f32 && (!exchange.sharded || op.name == std::string_view(kDpReduceScatter));
  }
  double wire_bytes(const Op& op) const {
    return is_rounded(op) ? op.cost.bytes / sizeof(float) * static_cast<double>(size_of(exchange.wire)) : op.cost.bytes;
  }

  double gradient_seconds(const Op& op) const {
    const bool scatters = op.name == std::string_view(kDpReduceScatter);
    return scatters && is_rounded(op) ? times.rounded_gradients(op.cost.bytes, wire_bytes(op))
                                      : times.gradients(wire_bytes(op), scatters);
  }

  double sent_gradient_bytes(const Op& op) const {
    if (op.name != std::string_view(kDpReduceScatter)) return sent_bytes(times.dp(), wire_bytes(op));
    return is_rounded(op) ? rounded_sent_bytes(times.dp(), op.cost.bytes, wire_bytes(op))
                          : 0.5 * sent_bytes(times.dp(), op.cost.bytes);
  }

  std::vector<TimedOp> timed_last_block() const {
    std::vector<TimedOp> timed{block.front()};
    for (const Op& op : ops.last_block) {
      if (is_dp_collective(op.name)) {
        timed.push_back({.kind = TimedKind::dp, .seconds = gradient_seconds(op)});
      } else {
        const auto kind = is_tp_collective(op.name) ? TimedKind::tp : TimedKind::compute;
        timed.push_back({.kind = kind, .seconds = times.seconds(op)});
      }
    }
    return timed;
  }

  // Returns for each bucket the bytes of the rounded weights that a sharded optimizer gathers.
  std::vector<double> gathers() const {
    std::vector<double> bytes;
    const auto copy = static_cast<double>(config.train.precision == Precision::f32 ? sizeof(float) : 2);
    for (const Op& op : ops.last_block)
      if (op.name == std::string_view(kDpReduceScatter)) bytes.push_back(op.cost.bytes / sizeof(float) * copy);
    return bytes;
  }

  double optimizer() const {
    double seconds = times.casts(static_cast<double>(ops.parameters), exchange);
    for (const Op& op : ops.step) seconds += times.update(op);
    for (const Op& op : ops.exchange) seconds += times.exchange(op);
    return seconds;
  }

  Traffic traffic() const {
    Traffic t;
    for (const Op& op : ops.last_block) {
      if (!is_dp_collective(op.name)) continue;
      ++t.dp_collectives;
      t.gradient_bytes += wire_bytes(op);
      t.sent_bytes += sent_gradient_bytes(op);
    }
    for (const double bytes : gathers()) {
      ++t.dp_collectives;
      t.weight_bytes += bytes;
      t.sent_bytes += 0.5 * sent_bytes(times.dp(), bytes);
    }
    for (const Op& op : ops.exchange) {
      if (!is_dp_collective(op.name)) continue;
      ++t.dp_collectives;
      t.weight_bytes += op.cost.bytes;
      t.sent_bytes += 0.5 * sent_bytes(times.dp(), op.cost.bytes);
    }
    const auto add_tp = [&t](const std::vector<Op>& of_block, int64_t times) {
      for (const Op& op : of_block) {
        if (!is_tp_collective(op.name)) continue;
        t.tp_sums += times;
        t.tp_bytes += static_cast<double>(times) * op.cost.bytes;
      }
    };
    add_tp(ops.block, blocks - 1);
    add_tp(ops.last_block, 1);
    add_tp(ops.exchange, 1);
    t.exchanged_bytes = static_cast<double>(config.parallel.dp * config.parallel.tp * bytes_of_totals());
    return t;
  }
};

int64_t whole_nodes(int64_t ranks, const Machine& m) { return (ranks + m.node.ranks - 1) / m.node.ranks; }

}  // namespace

GradientExchange exchange_of(const ParallelConfig& parallel) {
  return {.sharded = parallel.zero > 0, .wire = parallel.gradient_type == GradientType::f32 ? DType::f32 : DType::bf16};
}

bool GridStep::fits(const Machine& machine) const {
  return machine.processor.memory == 0 || static_cast<double>(memory) <= machine.processor.memory;
}

RunConfig resolve_grid_config(RunConfig c, const Machine& machine, int64_t dp, int64_t tp,
                              const GradientExchange& exchange) {
  c.parallel.zero = exchange.sharded ? 1 : 0;
  c.parallel.gradient_type = exchange.sharded && exchange.wire != DType::f32 ? GradientType::bf16 : GradientType::f32;
  c.parallel.dp = dp, c.parallel.tp = tp;
  const Precision measured = machine.processor.precision;
  if (c.train.precision == Precision::automatic)
    c.train.precision = measured == Precision::automatic ? Precision::bf16 : measured;
  if (measured != Precision::automatic && measured != c.train.precision)
    fail(ErrorKind::usage, fmt::format("the rates of this machine were measured in {0}, but train.precision is {1}: "
                                       "measure them again with `weft bench --machine --precision={1}`",
                                       name_of_enum(measured), name_of_enum(c.train.precision)));
  if (c.train.cuda_graph == CudaGraph::automatic)
    c.train.cuda_graph = machine.is_gpu() ? CudaGraph::on : CudaGraph::off;
  for (int64_t* vocabulary : {&c.model.source_vocabulary, &c.model.target_vocabulary})
    if (*vocabulary == 0) *vocabulary = kPlannedVocabulary;
  const DataConfig data = c.data;
  RunConfig resolved = resolve_bench(c, *make_planned_group(static_cast<int>(dp * tp)));
  resolved.data = data;
  return resolved;
}

GridStep predict_grid(const Machine& m, const RunConfig& c, const GradientExchange& exchange, int64_t sentences) {
  const Work w(m, c, exchange, sentences);
  const int64_t ranks = c.parallel.dp * c.parallel.tp;
  const double passes = w.times.passes(w.blocks);
  GridStep grid{.config = c,
                .exchange = exchange,
                .blocks_of_rank = w.blocks,
                .source_tokens = c.batch.blocks * w.data.source_tokens(),
                .target_tokens = c.batch.blocks * w.data.target_tokens(),
                .traffic = w.traffic(),
                .memory = w.memory,
                .parameters = w.parameters.all};
  const double lost = c.parallel.dp > 1 ? m.processor.lost_to_collectives.value : 0;
  const Timeline usual = timeline_of(w.block, lost), last = timeline_of(w.timed_last_block(), lost);
  double gather_seconds = 0;
  for (const double bytes : w.gathers()) gather_seconds += w.times.weights(bytes);
  const auto buckets = static_cast<int64_t>(w.gathers().size());
  const Timeline gather = gather_beside(w.forward, gather_seconds, buckets, lost);
  StepSeconds& s = grid.seconds;
  s.compute = passes * usual.compute;
  s.tp = (passes - 1) * usual.tp + last.tp;
  s.exposed = last.exposed + gather.exposed, s.slowed = last.slowed + gather.slowed;
  grid.exchange_seconds = last.dp + gather.dp;
  s.optimizer = w.optimizer();
  s.host = host_exchange_seconds(m, ranks, static_cast<double>(bytes_of_totals()));
  s.spread = m.network.spread * std::log2(static_cast<double>(whole_nodes(ranks, m)));
  s.planner = static_cast<double>(w.blocks) * m.processor.planner * static_cast<double>(c.batch.rows) / kPlannedRows;
  s.saves = save_seconds(m, c, w.parameters, s.step());
  s.validations = validation_seconds(m, c, w.forward, w.sentences, static_cast<double>(w.data.target_tokens()));
  return grid;
}

}  // namespace weft
