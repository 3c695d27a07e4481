// trainer/cluster/cluster_plan.cpp: compares grids with a single rank that trains alone.
#include "trainer/cluster/cluster_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr double kAsFast = 1.02;  // a longer step is slower
constexpr int64_t kMaxRanks = 1 << 20, kMaxTokens = 1 << 24;

void check(const PlanRequest& r) {
  if (r.ranks < 1 || r.ranks > kMaxRanks)
    fail(ErrorKind::usage, fmt::format("ranks = {} must be between 1 and {}", r.ranks, kMaxRanks));
  if (r.tokens < 0 || r.tokens > kMaxTokens)
    fail(ErrorKind::usage, fmt::format("tokens-per-rank = {} must be between 0 and {}", r.tokens, kMaxTokens));
  if (r.valid_sentences < 0)
    fail(ErrorKind::usage, fmt::format("valid-sentences = {} must be at least 0", r.valid_sentences));
  if (!(r.target_tokens >= 0))
    fail(ErrorKind::usage, fmt::format("target-tokens = {} must be at least 0", r.target_tokens));
  if (!r.config.train.epochs.empty() && r.target_tokens == 0)
    fail(ErrorKind::usage, fmt::format("train.epochs = {} takes a number of steps that depends on the corpus, which "
                                       "this command does not read: give --target-tokens",
                                       r.config.train.epochs));
  check_machine(r.machine, r.ranks);
}

// Sets blocks and rows so that a step has about `tokens` target rows per rank, in blocks of about batch.rows rows.
RunConfig with_tokens(RunConfig c, int64_t tokens, int64_t dp, int64_t tp) {
  if (tokens == 0) return c;
  const int64_t of_dp_rank = tokens * tp, blocks = std::max<int64_t>(1, (of_dp_rank + c.batch.rows / 2) / c.batch.rows);
  const double source = static_cast<double>(c.batch.source_rows) / static_cast<double>(c.batch.rows);
  c.batch.rows = std::max<int64_t>(2, of_dp_rank / blocks);
  if (c.batch.source_rows > 0)
    c.batch.source_rows = std::max<int64_t>(2, std::llround(source * static_cast<double>(c.batch.rows)));
  c.batch.tokens = 0, c.batch.blocks = blocks * dp;
  return c;
}

RunConfig grid_config(const PlanRequest& r, int64_t dp, int64_t tp, const GradientExchange& exchange) {
  return resolve_grid_config(with_tokens(r.config, r.tokens, dp, tp), r.machine, dp, tp, exchange);
}

GridStep predict(const PlanRequest& r, int64_t dp, int64_t tp, const GradientExchange& exchange) {
  return predict_grid(r.machine, grid_config(r, dp, tp, exchange), exchange, r.valid_sentences);
}

std::vector<int64_t> widths_of_tp(const PlanRequest& r) {  // returns each tp that the ranks and the model allow
  std::vector<int64_t> all;
  for (int64_t tp = 1; tp <= std::min(r.ranks, r.config.model.heads); ++tp) {
    if (r.ranks % tp != 0 || (r.tp != 0 && tp != r.tp)) continue;
    try {
      grid_config(r, r.ranks / tp, tp, {});
      all.push_back(tp);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage || tp == 1 || r.tp != 0) throw;
    }
  }
  if (all.empty())
    fail(ErrorKind::usage,
         fmt::format("tp = {}: {} ranks cannot form a grid with this tp; use --tp 0 for all grids", r.tp, r.ranks));
  return all;
}

// Returns the main reason why the grid is slower than separate ranks that each train on their share of the tokens.
std::string binding_term(const GridStep& grid, const GridStep& alone) {
  const auto ranks = static_cast<double>(grid.config.parallel.dp * grid.config.parallel.tp);
  const StepSeconds &s = grid.seconds, &one = alone.seconds;
  const double share = static_cast<double>(grid.target_tokens) / ranks / static_cast<double>(alone.target_tokens);
  const double busy = static_cast<double>(grid.config.batch.blocks) /
                      static_cast<double>(grid.blocks_of_rank * grid.config.parallel.dp);
  const std::pair<const char*, double> losses[] = {{"ranks without a block", (1 - busy) * s.compute},
                                                   {"smaller matrix products", busy * s.compute - share * one.compute},
                                                   {"sums of tp", s.tp},
                                                   {"exchange of gradients", s.exposed + s.slowed},
                                                   {"optimizer", s.optimizer - share * one.optimizer},
                                                   {"exchange of totals", s.host},
                                                   {"the slowest rank", s.spread},
                                                   {"planner", s.step() - s.device()},
                                                   {"saves", s.saves},
                                                   {"validations", s.validations}};
  const auto* const most = std::max_element(std::begin(losses), std::end(losses),
                                            [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second < 0.01 * s.total() ? "compute" : most->first;
}

PlannedGrid compared(const PlanRequest& r, GridStep grid, const GridStep& alone) {
  const auto speed = [](const GridStep& g) { return static_cast<double>(g.target_tokens) / g.seconds.step(); };
  PlannedGrid planned{.step = std::move(grid)};
  planned.efficiency = speed(planned.step) / (static_cast<double>(r.ranks) * speed(alone));
  planned.binds = planned.step.fits(r.machine) ? binding_term(planned.step, alone) : "memory: does not fit";
  const double tokens = r.target_tokens > 0 ? r.target_tokens : static_cast<double>(r.config.train.tokens);
  const double steps =
      tokens > 0 ? tokens / static_cast<double>(planned.step.target_tokens) : static_cast<double>(r.config.train.steps);
  planned.hours = steps * planned.step.seconds.total() / 3600;
  return planned;
}

// Removes the ranks without a block and those that do not shorten the busiest rank's work. Saves and validations count,
// because fewer ranks share them.
int64_t enough_ranks(const PlanRequest& r, const GridStep& grid) {
  const int64_t tp = grid.config.parallel.tp;
  const int64_t dp = (grid.config.batch.blocks + grid.blocks_of_rank - 1) / grid.blocks_of_rank;
  if (dp == grid.config.parallel.dp) return 0;
  const GridStep fewer = predict(r, dp, tp, dp > 1 ? grid.exchange : GradientExchange{});
  return fewer.fits(r.machine) && fewer.seconds.total() <= kAsFast * grid.seconds.total() ? dp * tp : 0;
}

}  // namespace

ClusterPlan plan_cluster(const PlanRequest& r) {
  check(r);
  ClusterPlan plan{.request = r};
  plan.alone = predict(r, 1, 1, {});
  for (const int64_t tp : widths_of_tp(r)) {
    const int64_t dp = r.ranks / tp;
    const std::vector<GradientExchange> nothing_to_exchange{{}};
    for (const GradientExchange& exchange : dp > 1 ? r.exchanges : nothing_to_exchange)
      plan.grids.push_back(compared(r, predict(r, dp, tp, exchange), plan.alone));
  }
  std::stable_sort(plan.grids.begin(), plan.grids.end(), [&](const PlannedGrid& a, const PlannedGrid& b) {
    const bool fits = a.step.fits(r.machine);
    if (fits != b.step.fits(r.machine)) return fits;
    return a.step.tokens_per_second() > b.step.tokens_per_second();
  });
  plan.enough_ranks = enough_ranks(r, plan.grids.front().step);
  return plan;
}

}  // namespace weft
