// tests/devices/device_mesh_test.cpp: all-reduces of tensors on a device.
#include "parallel/device_mesh.h"

#include <gtest/gtest.h>

#include "parallel/grad_sync.h"
#include "parallel/tensor_parallel.h"
#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tests/parallel/communicator_cases.h"
#include "tests/support/device.h"

namespace weft::testing {
namespace {

constexpr int64_t kNumel = 1003;

// Calls body(mesh) on each rank of a grid of threads that share the device.
void on_device_grid(int dp, int tp, const std::function<void(const DeviceMesh&)>& body) {
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = dp, .tp = tp}, {.device = test_device(), .num_sharing = dp * tp});
    body(DeviceMesh(mesh, Communication::automatic));
  });
}

TEST(DeviceMesh, SumsWhatTheDeviceStillComputes) {
  on_device_grid(1, 2, [](const DeviceMesh& mesh) {
    Context& ctx = mesh.context();
    const Buffer buffer(kNumel * sizeof(float), ctx.device());
    const Tensor x = buffer.tensor({kNumel});
    weft::ops::fill(ctx, {.x = x, .value = 1 + static_cast<float>(mesh.tp().rank())});
    TensorParallel(mesh.tp()).all_reduce(ctx, x);
    weft::ops::add(ctx, {.x = x, .y = x});
    EXPECT_EQ(to_host<float>(ctx, x), std::vector<float>(kNumel, 6));
  });
}

TEST(DeviceMesh, GathersInRankOrder) {
  on_device_grid(1, 3, [](const DeviceMesh& mesh) {
    Context& ctx = mesh.context();
    const Buffer mine(4 * sizeof(int32_t), ctx.device()), all(12 * sizeof(int32_t), ctx.device());
    put<int32_t>(ctx, std::vector<int32_t>(4, mesh.tp().rank()), mine.tensor({4}, DType::i32));
    TensorParallel(mesh.tp()).gather(ctx, mine.tensor({4}, DType::i32), all.tensor({3, 4}, DType::i32));
    EXPECT_EQ(to_host<int32_t>(ctx, all.tensor({12}, DType::i32)),
              (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  });
}

TEST(DeviceMesh, SumsGradientsInBuckets) {
  on_device_grid(3, 1, [](const DeviceMesh& mesh) {
    Context& ctx = mesh.context();
    const Buffer buffer(kNumel * sizeof(float), ctx.device());
    const Tensor grads = buffer.tensor({kNumel});
    GradSync sync(ctx, mesh.dp(), grads, Shard(kNumel, 0, 1, /*bucket=*/100));
    for (int step = 0; step < 2; ++step) {
      put<float>(ctx, inputs<float>(mesh.dp().rank(), kNumel, step), grads);
      sync.begin();
      sync.ready(500);
      sync.ready(0);
      sync.wait();
      expect_bits(to_host<float>(ctx, grads), rank_order_sum<float>(3, kNumel, step), "gradients");
    }
  });
}

TEST(DeviceMesh, RoundsGradientsBetweenHosts) {
  constexpr int kRanks = 4, kRanksPerHost = 2;
  constexpr int64_t kMatrices = 960;
  on_device_grid(kRanks, 1, [](const DeviceMesh& mesh) {
    Context& ctx = mesh.context();
    const Buffer buffer(kMatrices * sizeof(float), ctx.device());
    const Tensor grads = buffer.tensor({kMatrices});
    const Shard shard(kMatrices, mesh.dp().rank(), kRanks, /*bucket=*/200);
    GradSync sync(ctx, mesh.dp(), grads, shard, DType::bf16, kRanksPerHost);
    put<float>(ctx, inputs<float>(mesh.dp().rank(), kMatrices), grads);
    sync.begin();
    for (const int64_t first : {500, 0}) sync.ready(first);
    sync.wait();
    const std::vector<float> sums = to_host<float>(ctx, grads);
    for (const Chunk& bucket : shard.buckets()) {
      const Chunk own = shard.own(bucket);
      for (int64_t i = own.begin; i < own.begin + own.count; ++i) {
        float wanted = 0;
        for (int rank = 0; rank < kRanks; rank += kRanksPerHost)
          wanted += to_float(from_float<BFloat16>(input<float>(rank, i) + input<float>(rank + 1, i)));
        EXPECT_EQ(sums[static_cast<size_t>(i)], wanted) << "element " << i;
      }
    }
  });
}

}  // namespace
}  // namespace weft::testing
