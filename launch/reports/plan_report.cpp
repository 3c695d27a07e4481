// launch/reports/plan_report.cpp: reports the grids, the parts of the best grid's step, and the machine's constants.
#include "launch/reports/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "trainer/bench/machine_load.h"
#include "trainer/config/fields.h"
#include "trainer/display/units.h"
#include "trainer/plan/run_plan.h"
#include "trainer/version.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMillisecond = 1e3;
constexpr int kMaxGrids = 12, kBar = 30;
constexpr double kShown = 5e-4;  // smallest share of a step that is shown

struct NamedConstant {
  std::string key;
  Constant constant;
};

class ConstantCollector {  // the `v` of sections(v) and fields(v)
 public:
  explicit ConstantCollector(std::vector<NamedConstant>& out, std::string section = "")
      : out_(out), section_(std::move(section)) {}
  template <typename T>
  void operator()(const char* name, T& member, const char*) {
    if constexpr (std::is_same_v<T, Constant>) out_.push_back({section_ + name, member});
  }
  template <typename Section>
  void operator()(const char* name, Section& section) {
    ConstantCollector inner(out_, std::string(name) + ".");
    section.fields(inner);
  }

 private:
  std::vector<NamedConstant>& out_;
  std::string section_;
};

std::vector<NamedConstant> constants_of(Machine machine) {
  std::vector<NamedConstant> all;
  ConstantCollector collector(all);
  machine.sections(collector);
  return all;
}

using NamedPart = std::pair<const char*, double>;

std::vector<NamedPart> parts_of(const StepSeconds& s) {
  return {{"compute", s.compute},     {"tp sums", s.tp},
          {"exposed", s.exposed},     {"slowed", s.slowed},
          {"optimizer", s.optimizer}, {"hosts", s.host},
          {"slowest", s.spread},      {"planner", s.step() - s.device()},
          {"saves", s.saves},         {"validations", s.validations}};
}

const char* explanation(const std::string& part) {
  if (part == "compute") return "forward and backward passes of blocks";
  if (part == "tp sums") return "sums of tensor parallelism";
  if (part == "exposed") return "exchange that no computation hides";
  if (part == "slowed") return "computation slowed by the exchange";
  if (part == "optimizer") return "zeroing, norm, update";
  if (part == "hosts") return "exchange of totals between hosts";
  if (part == "slowest") return "waiting for the slowest rank";
  if (part == "planner") return "planning that outlasts the step";
  if (part == "saves") return "checkpoints, average per step";
  return "average per step";
}

std::string name_of(const GradientExchange& e) {
  return fmt::format("{}{}", name_of(e.wire), e.sharded ? ", zero 1" : "");
}

std::string seconds_text(double s) {
  if (s == 0) return "0";
  if (s < 1e-3) return fmt::format("{:.3g} us", 1e6 * s);
  return s < 1 ? fmt::format("{:.3g} ms", 1e3 * s) : fmt::format("{:.3g} s", s);
}

std::string value_text(const NamedConstant& c) {
  const auto ends = [&](const char* end) { return c.key.ends_with(end); };
  if (ends("bandwidth")) return fmt::format("{:.4g} GB/s", c.constant / 1e9);
  if (ends("flops"))
    return c.constant < 1e12 ? fmt::format("{:.4g} Gflop/s", c.constant / 1e9)
                             : fmt::format("{:.4g} Tflop/s", c.constant / 1e12);
  if (ends("memory")) return format_bytes(static_cast<size_t>(c.constant.value));
  if (ends("sentences")) return fmt::format("{:.4g}/s", c.constant.value);
  if (ends("collectives")) return fmt::format("{:.3g}", c.constant.value);
  return seconds_text(c.constant);
}

std::string heading(const ClusterPlan& plan) {
  const PlanRequest& r = plan.request;
  const RunConfig& c = plan.alone.config;
  std::string s = fmt::format("PLANNED, not measured: {} rank{} on {} node{} of {}\n", with_commas(r.ranks),
                              r.ranks == 1 ? "" : "s", with_commas(plan.nodes()), plan.nodes() == 1 ? "" : "s",
                              r.machine.name.empty() ? "the machine" : r.machine.name);
  s +=
      fmt::format("model: width {}, {} heads, feed-forward {}, {} + {} layers, vocabulary {} / {}, {} parameters, {}\n",
                  c.model.width, c.model.heads, c.model.feed_forward, c.model.encoder_layers, c.model.decoder_layers,
                  c.model.source_vocabulary, c.model.target_vocabulary,
                  format_count(static_cast<double>(plan.alone.parameters)), print_value(c.train.precision));
  if (r.machine.other_programs > kMaxOthers)
    s += fmt::format(
        "WARNING: other programs used {:.0f} % of the cores while this machine was measured: measure it again\n",
        100 * r.machine.other_programs);
  s += fmt::format(
      "a rank alone, without saves and validations: {} target tokens/s, {:.1f} ms for a step of {} tokens\n",
      format_count(static_cast<double>(plan.alone.target_tokens) / plan.alone.seconds.step()),
      kMillisecond * plan.alone.seconds.step(), with_commas(plan.alone.target_tokens));
  return s;
}

std::string grid_name(const GridStep& g) { return fmt::format("{} x {}", g.config.parallel.dp, g.config.parallel.tp); }

std::string hours_text(double hours) { return hours < 1000 ? fmt::format("{:.3g}", hours) : format_count(hours); }

std::string grid_row(const PlannedGrid& p) {
  const GridStep& g = p.step;
  return fmt::format("{:<10} {:<13} {:>3} x {:<6} {:>9} {:>10.2f} {:>10} {:>6.3f} {:>8}  {}\n", grid_name(g),
                     g.config.parallel.dp > 1 ? name_of(g.exchange) : "-", g.blocks_of_rank, g.config.batch.rows,
                     format_bytes(g.memory), kMillisecond * g.seconds.total(), format_count(g.tokens_per_second()),
                     p.efficiency, hours_text(p.hours), p.binds);
}

// Names a number of ranks whose steps take no longer, if there is one, and a number of tokens that gives each rank as
// many full blocks as the busiest rank has. Empty if no rank waits for others with more blocks.
std::string advice_for_idle_ranks(const ClusterPlan& plan) {
  const GridStep& g = plan.grids.front().step;
  const std::string idle = describe_idle_ranks(g.config);
  if (idle.empty()) return "";
  const int64_t dp = g.config.parallel.dp, tp = g.config.parallel.tp;
  return fmt::format(
      "\n{}\nuse {}--tokens-per-rank {}, for steps of {} full blocks\n", idle,
      plan.enough_ranks > 0 ? fmt::format("--ranks {}, whose steps take no longer, or ", plan.enough_ranks) : "",
      g.blocks_of_rank * g.config.batch.rows / tp, with_commas(g.blocks_of_rank * dp));
}

std::string bars(const PlannedGrid& best) {
  const double total = best.step.seconds.total();
  std::string s = fmt::format("\nthe step of {}, {}\n", grid_name(best.step), name_of(best.step.exchange));
  for (const auto& [name, seconds] : parts_of(best.step.seconds)) {
    if (seconds < kShown * total) continue;
    std::string bar;
    for (int i = std::max(1, static_cast<int>(std::lround(kBar * seconds / total))); i > 0; --i) bar += "█";
    s += fmt::format("  {:<11} {:>9.3f} ms {:>5.1f} %  {}{:{}} {}\n", name, kMillisecond * seconds,
                     100 * seconds / total, bar, "", std::max(0, kBar - static_cast<int>(bar.size() / 3)),
                     explanation(name));
  }
  const Traffic& t = best.step.traffic;
  if (t.dp_collectives > 0)
    s += fmt::format("  {} dp collectives, {} sent per rank, {:.2f} ms in total\n", t.dp_collectives,
                     format_bytes(static_cast<size_t>(t.sent_bytes)), kMillisecond * best.step.exchange_seconds);
  if (t.tp_sums > 0)
    s += fmt::format("  {} tp sums and gathers, {}\n", t.tp_sums, format_bytes(static_cast<size_t>(t.tp_bytes)));
  return s;
}

std::string constants_table(const Machine& machine) {
  std::string s = "\nconstants of the machine\n";
  std::vector<std::string> cells;
  for (const NamedConstant& c : constants_of(machine)) {
    if (c.constant == 0) continue;
    cells.push_back(fmt::format("  {:<29} {:<13} {:<9}", c.key, value_text(c), name_of_enum(c.constant.origin)));
  }
  const size_t rows = (cells.size() + 1) / 2;
  for (size_t i = 0; i < rows; ++i) s += cells[i] + (i + rows < cells.size() ? cells[i + rows] : "") + "\n";
  return s;
}

Json parts_json(const StepSeconds& s) {
  Json json;
  for (const auto& [name, seconds] : parts_of(s)) json[name] = seconds;
  return json;
}

Json grid_json(const PlannedGrid& p, const Machine& machine) {
  const GridStep& g = p.step;
  return {{"dp", g.config.parallel.dp},
          {"tp", g.config.parallel.tp},
          {"sharded", g.exchange.sharded},
          {"wire", weft::name_of(g.exchange.wire)},
          {"blocks_of_rank", g.blocks_of_rank},
          {"rows", g.config.batch.rows},
          {"memory_bytes", g.memory},
          {"fits", g.fits(machine)},
          {"step_seconds", g.seconds.total()},
          {"parts", parts_json(g.seconds)},
          {"planner_seconds", g.seconds.planner},
          {"exchange_seconds", g.exchange_seconds},
          {"target_tokens", g.target_tokens},
          {"tokens_per_second", g.tokens_per_second()},
          {"efficiency", p.efficiency},
          {"hours", p.hours},
          {"binds", p.binds},
          {"traffic",
           {{"dp_collectives", g.traffic.dp_collectives},
            {"gradient_bytes", g.traffic.gradient_bytes},
            {"weight_bytes", g.traffic.weight_bytes},
            {"sent_bytes", g.traffic.sent_bytes},
            {"tp_collectives", g.traffic.tp_sums},
            {"tp_bytes", g.traffic.tp_bytes},
            {"exchanged_bytes", g.traffic.exchanged_bytes}}}};
}

}  // namespace

std::string plan_text(const ClusterPlan& plan) {
  std::string s = heading(plan);
  s += fmt::format("\n{:<10} {:<13} {:<12} {:>9} {:>10} {:>10} {:>6} {:>8}  {}\n", "dp x tp", "gradients",
                   "blocks, rows", "memory", "step, ms", "tokens/s", "effic.", "hours", "what binds");
  for (size_t i = 0; i < plan.grids.size() && i < kMaxGrids; ++i) s += grid_row(plan.grids[i]);
  if (plan.grids.size() > kMaxGrids) s += fmt::format("... {} more in --json\n", plan.grids.size() - kMaxGrids);
  s += advice_for_idle_ranks(plan);
  return s + bars(plan.grids.front()) + constants_table(plan.request.machine);
}

std::string plan_json(const ClusterPlan& plan) {
  const PlanRequest& r = plan.request;
  Json json{{"version", kVersion},
            {"machine", r.machine.name},
            {"other_programs", r.machine.other_programs},
            {"ranks", r.ranks},
            {"nodes", plan.nodes()},
            {"parameters", plan.alone.parameters},
            {"alone",
             {{"target_tokens", plan.alone.target_tokens},
              {"step_seconds", plan.alone.seconds.step()},
              {"parts", parts_json(plan.alone.seconds)}}}};
  for (const PlannedGrid& grid : plan.grids) json["grids"].push_back(grid_json(grid, r.machine));
  for (const NamedConstant& c : constants_of(r.machine))
    json["constants"][c.key] = {{"value", c.constant.value}, {"origin", name_of_enum(c.constant.origin)}};
  return json.dump(2) + "\n";
}

}  // namespace weft
