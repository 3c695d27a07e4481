// tests/trainer/cluster/cluster_plan_test.cpp: which grids there are, in which order, and what binds them.
#include "trainer/cluster/cluster_plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <stdexcept>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

// Ranks that communicate at once: nothing is lost.
PlanRequest ideal_request(int64_t ranks) {
  PlanRequest r;
  r.config.model.width = 64, r.config.model.heads = 4, r.config.model.feed_forward = 64;
  r.config.model.encoder_layers = r.config.model.decoder_layers = 1;
  r.config.batch.rows = 256;
  r.config.train.save_every = 0;
  r.machine.processor.flops = {1e9}, r.machine.processor.update_bandwidth = {1e15};
  r.machine.processor.planner = {1e-12}, r.machine.processor.lost_to_collectives = {0};
  r.machine.node.ranks = 4, r.machine.node.bandwidth = {1e15};
  r.machine.network.bandwidth = {1e15}, r.machine.network.host_latency = {0};
  r.ranks = ranks, r.tokens = 256;
  return r;
}

const PlannedGrid& grid_of(const ClusterPlan& plan, int64_t tp) {
  for (const PlannedGrid& g : plan.grids)
    if (g.step.config.parallel.tp == tp) return g;
  throw std::out_of_range("no such grid");
}

TEST(ClusterPlan, HasEveryGridThatTheModelAllows) {
  std::set<std::pair<int64_t, int64_t>> grids;
  for (const PlannedGrid& g : plan_cluster(ideal_request(24)).grids)
    grids.emplace(g.step.config.parallel.dp, g.step.config.parallel.tp);
  EXPECT_EQ(grids, (std::set<std::pair<int64_t, int64_t>>{{24, 1}, {12, 2}, {6, 4}}));
  PlanRequest r = ideal_request(24);
  r.config.model.kv_heads = 2;
  EXPECT_EQ(plan_cluster(r).grids.size(), 2u);  // two heads of keys cannot be split over 4 ranks
}

TEST(ClusterPlan, HasOneGridIfTpIsGiven) {
  PlanRequest r = ideal_request(24);
  r.tp = 2;
  const ClusterPlan plan = plan_cluster(r);
  ASSERT_EQ(plan.grids.size(), 1u);
  EXPECT_EQ(plan.grids.front().step.config.parallel.dp, 12);
}

TEST(ClusterPlan, IsLinearWhereNothingIsLost) {
  const ClusterPlan plan = plan_cluster(ideal_request(64));
  EXPECT_NEAR(grid_of(plan, 1).efficiency, 1, 1e-6);
  EXPECT_EQ(grid_of(plan, 1).binds, "compute");
  EXPECT_EQ(grid_of(plan, 1).step.target_tokens, 64 * plan.alone.target_tokens);
}

TEST(ClusterPlan, GivesEachGridTheSameTokensARank) {
  const ClusterPlan plan = plan_cluster(ideal_request(8));
  EXPECT_EQ(grid_of(plan, 4).step.blocks_of_rank, 4);
  EXPECT_EQ(grid_of(plan, 1).step.config.batch.blocks * 256, grid_of(plan, 4).step.config.batch.blocks * 256);
}

TEST(ClusterPlan, BeginsWithTheFastestThatFits) {
  PlanRequest r = ideal_request(4);
  r.exchanges = {{}, {.sharded = true}};
  r.machine.processor.memory = {80e9};  // a GPU's
  const ClusterPlan plan = plan_cluster(r);
  for (size_t i = 1; i < plan.grids.size(); ++i)
    EXPECT_GE(plan.grids[i - 1].step.tokens_per_second(), plan.grids[i].step.tokens_per_second());
  const size_t least = grid_of(plan, 4).step.memory;
  r.machine.processor.memory = {static_cast<double>(least)};
  r.exchanges = {{}};
  const ClusterPlan tight = plan_cluster(r);
  EXPECT_TRUE(tight.grids.front().step.fits(r.machine));
  EXPECT_FALSE(tight.grids.back().step.fits(r.machine));
  EXPECT_EQ(tight.grids.back().binds, "memory: does not fit");
}

TEST(ClusterPlan, NamesWhatBinds) {
  const auto binds = [](const std::function<void(PlanRequest&)>& change) {
    PlanRequest r = ideal_request(8);
    change(r);
    return grid_of(plan_cluster(r), 1).binds;
  };
  EXPECT_EQ(binds([](PlanRequest& r) { r.machine.network.bandwidth = {1e6}; }), "exchange of gradients");
  EXPECT_EQ(binds([](PlanRequest& r) { r.machine.network.host_latency = {1}; }), "exchange of totals");
  EXPECT_EQ(binds([](PlanRequest& r) { r.machine.network.spread = {1}; }), "the slowest rank");
  EXPECT_EQ(binds([](PlanRequest& r) { r.machine.processor.planner = {100}; }), "planner");
  EXPECT_EQ(binds([](PlanRequest& r) { r.config.train.save_every = 1, r.machine.disk.bandwidth = {1e3}; }), "saves");
  EXPECT_EQ(binds([](PlanRequest& r) {
              r.config.data.valid = "valid", r.config.train.validate_every = 1, r.config.train.validate_bleu = -1;
            }),
            "validations");
  EXPECT_EQ(binds([](PlanRequest& r) { r.tokens = 0, r.config.batch.blocks = 4; }), "ranks without a block");
  EXPECT_EQ(binds([](PlanRequest& r) {
              r.tokens = 0, r.config.batch.blocks = 8, r.machine.processor.update_bandwidth = {1e5};
            }),
            "optimizer");
}

TEST(ClusterPlan, CountsTheHoursToTheTarget) {
  PlanRequest r = ideal_request(4);
  r.config.train.steps = 3600;
  const PlannedGrid by_steps = plan_cluster(r).grids.front();
  EXPECT_NEAR(by_steps.hours, by_steps.step.seconds.total(), 1e-9);
  r.target_tokens = 7200.0 * static_cast<double>(by_steps.step.target_tokens);
  EXPECT_NEAR(plan_cluster(r).grids.front().hours, 2 * by_steps.hours, 1e-9);
}

TEST(ClusterPlan, RefusesWhatCannotBe) {
  const auto refusal = [](const std::function<void(PlanRequest&)>& change) {
    PlanRequest r = ideal_request(4);
    change(r);
    return refusal_of(ErrorKind::usage, [&] { plan_cluster(r); });
  };
  EXPECT_EQ(refusal([](PlanRequest& r) { r.ranks = 0; }), "ranks = 0 must be between 1 and 1048576");
  EXPECT_EQ(refusal([](PlanRequest& r) { r.tokens = -1; }), "tokens-per-rank = -1 must be between 0 and 16777216");
  EXPECT_EQ(refusal([](PlanRequest& r) { r.valid_sentences = -1; }), "valid-sentences = -1 must be at least 0");
  EXPECT_EQ(refusal([](PlanRequest& r) { r.target_tokens = -1; }), "target-tokens = -1 must be at least 0");
  EXPECT_TRUE(refusal([](PlanRequest& r) { r.config.train.epochs = "2"; }).ends_with("give --target-tokens"));
  EXPECT_TRUE(holds(refusal([](PlanRequest& r) { r.config.model.heads = 5; }), "model.heads"));
  EXPECT_EQ(refusal([](PlanRequest& r) { r.tp = 3; }),
            "tp = 3: 4 ranks cannot form a grid with this tp; use --tp 0 for all grids");
}

}  // namespace
}  // namespace weft::testing
