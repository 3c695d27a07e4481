// tests/parallel/planned_group_test.cpp: what a dry run would communicate is in its trace.
#include "parallel/planned_group.h"

#include <gtest/gtest.h>

#include "parallel/grad_sync.h"
#include "parallel/tensor_parallel.h"

namespace weft::testing {
namespace {

OpTrace keeping_trace() { return {.calls = {}, .keeps_ops = true, .ops = {}}; }

TEST(PlannedGroup, NotesTheBucketsOfGradients) {
  OpTrace trace = keeping_trace();
  const auto group = make_planned_group(4, &trace);
  Context dry(Device::cpu, /*dry_run=*/true);
  GradSync sync(dry, *group, Tensor(nullptr, {1000}), Shard(900, 0, 1, /*bucket=*/300));
  sync.begin();
  sync.ready(500);
  EXPECT_EQ(trace.ops.size(), 1u);  // 400 matrix elements are ready, of which one bucket is full
  sync.wait();
  std::vector<double> bytes;
  for (const OpTrace::Op& op : trace.ops) {
    EXPECT_STREQ(op.name, kDpAllReduce);
    bytes.push_back(op.cost.bytes);
  }
  EXPECT_EQ(bytes, (std::vector<double>{1200, 400, 1200, 1200}));
}

TEST(PlannedGroup, NotesTheGatheredPartsOfAllRanks) {
  OpTrace trace = keeping_trace();
  make_planned_group(3, &trace)->all_gather_v({Tensor(nullptr, {10}), Tensor(nullptr, {0}), Tensor(nullptr, {4})});
  ASSERT_EQ(trace.ops.size(), 1u);
  EXPECT_STREQ(trace.ops[0].name, kDpAllGatherV);
  EXPECT_EQ(trace.ops[0].cost.bytes, 56);
  ASSERT_EQ(trace.ops[0].operands.size(), 3u);
  EXPECT_EQ(trace.ops[0].operands[2].tensor.numel(), 4);
}

TEST(PlannedGroup, IsRankZeroOfItsSize) {
  const auto group = make_planned_group(1024);
  EXPECT_EQ(group->size(), 1024);
  EXPECT_EQ(group->rank(), 0);
  group->all_reduce(Tensor(nullptr, {8}));  // without a trace nothing is noted
}

TEST(PlannedGroup, OfTensorParallelismNotesInTheTraceOfADryRun) {
  OpTrace trace = keeping_trace();
  Context dry(Device::cpu, /*dry_run=*/true);
  dry.set_trace(&trace);
  const auto group = make_planned_group(2);
  const TensorParallel tp(*group);
  tp.all_reduce(dry, Tensor(nullptr, {4, 8}, DType::bf16));
  tp.gather(dry, Tensor(nullptr, {3}), Tensor(nullptr, {2, 3}));
  ASSERT_EQ(trace.ops.size(), 2u);
  EXPECT_STREQ(trace.ops[0].name, kTpAllReduce);
  EXPECT_EQ(trace.ops[0].cost.bytes, 64);
  EXPECT_STREQ(trace.ops[1].name, kTpAllGather);
  EXPECT_EQ(trace.ops[1].cost.bytes, 12);
}

TEST(PlannedGroup, OfOneRankSumsNothing) {
  OpTrace trace = keeping_trace();
  Context dry(Device::cpu, /*dry_run=*/true);
  dry.set_trace(&trace);
  const auto group = make_planned_group(1);
  TensorParallel(*group).all_reduce(dry, Tensor(nullptr, {4}));
  EXPECT_TRUE(trace.ops.empty());
}

}  // namespace
}  // namespace weft::testing
