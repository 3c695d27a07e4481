// tests/emulation/nccl/graph_test.cpp: NCCL collectives captured in a CUDA graph.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "tensor/error.h"
#include "tensor/ops.h"
#include "tests/emulation/nccl/gpu_ranks.h"
#include "tests/emulation/runtime/device.h"

namespace weft::testing {
namespace {

class Graph {
 public:
  Graph(Context& ctx, const std::function<void()>& work) : ctx_(ctx), recording_(ctx.record(work)) {}
  void launch() { ctx_.replay(*recording_); }

 private:
  Context& ctx_;
  std::unique_ptr<Context::Runtime::Recording> recording_;
};

TEST(NcclGraph, ReplaysItsCollectives) {
  run_gpu_ranks(2, [](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1}), y = floats(ctx, {3});
    ctx.synchronize();
    Graph graph(ctx, [&] {
      const auto pending = world.start_all_reduce(x.tensor({1}));
      world.all_reduce(y.tensor({1}));
      pending->wait();
    });
    for (int i = 0; i < 3; ++i) graph.launch();
    world.all_reduce(x.tensor({1}));  // also after the graph, outside it
    EXPECT_EQ(to_host<float>(ctx, x.tensor({1})), std::vector<float>{16});
    EXPECT_EQ(to_host<float>(ctx, y.tensor({1})), std::vector<float>{24});
  });
}

TEST(NcclGraph, NamesTheReplayedCollectiveThatDoesNotEnd) {
  std::latch heard(1);
  std::string text = "nothing";
  const GpuBody body = [&](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1, 2}), y = floats(ctx, {3});
    world.set_step(5);
    ctx.synchronize();
    Graph graph(ctx, [&] {
      world.all_reduce(x.tensor({2}));
      world.broadcast(y.tensor({1}), 0);
    });
    graph.launch();
    ctx.synchronize();
    if (world.rank() == 1) return heard.wait();
    graph.launch();  // the other rank launches its graph only once
    try {
      ctx.synchronize();
    } catch (const Error& e) {
      text = e.what();
    }
    heard.count_down();
  };
  run_gpu_ranks(2, body, {.collective = std::chrono::milliseconds(200)});
  EXPECT_TRUE(text.starts_with("all_reduce of 8 bytes in step 5, rank 0 of a group of 2 (device 0, ")) << text;
}

TEST(NcclGraph, HasMarksForWhichNothingWaits) {
  run_gpu_ranks(2, [](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1}), y = floats(ctx, {3});
    ctx.synchronize();
    const auto stream = static_cast<cudaStream_t>(ctx.runtime().stream());
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    const auto pending = world.start_all_reduce(x.tensor({1}));
    weft::ops::fill(ctx, {.x = y.tensor({1}), .value = 2});
    world.all_reduce(y.tensor({1}));
    pending->wait();
    world.broadcast(x.tensor({1}), 0);
    weft::ops::fill(ctx, {.x = x.tensor({1}), .value = 2});
    ctx.watch()->recording_ends();
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    const emulation::CopiesInGraph nodes = emulation::copies_in(graph);
    cudaGraphDestroy(graph);
    EXPECT_EQ(nodes.copies, 3);  // a mark per collective
    EXPECT_EQ(nodes.waiting, 0);
    EXPECT_EQ(nodes.others, 3 + 2);
  });
}

TEST(NcclGraph, ThatOnlyOneRankRecordsIsRefused) {
  std::vector<std::string> heard(2, "nothing");
  const GpuBody body = [&](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1});
    ctx.synchronize();
    try {
      const auto sum = [&] { world.all_reduce(x.tensor({1})); };
      if (world.rank() == 0)
        Graph(ctx, sum).launch();
      else
        sum();
      ctx.synchronize();
    } catch (const Error& e) {
      heard[static_cast<size_t>(world.rank())] = e.what();
    }
  };
  run_gpu_ranks(2, body);
  EXPECT_NE((heard[0] + heard[1]).find("in a graph"), std::string::npos) << heard[0] << heard[1];
}

// More launches than the marks can number.
TEST(NcclGraph, NamesACollectiveBehindThousandsOfOthers) {
  constexpr int kMany = 5000;
  std::string text = "nothing";
  std::latch heard(1), recorded(2);
  const GpuBody body = [&](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1, 2}), y = floats(ctx, {3});
    world.set_step(5);
    ctx.synchronize();
    Graph graph(ctx, [&] {
      for (int i = 0; i < kMany; ++i) world.all_reduce(x.tensor({2}), ReduceOp::max);
      if (world.rank() == 0) world.broadcast(y.tensor({1}), 0);
    });
    recorded.arrive_and_wait();
    graph.launch();
    if (world.rank() == 1) {
      ctx.synchronize();
      return heard.wait();
    }
    try {
      ctx.synchronize();
    } catch (const Error& e) {
      text = e.what();
    }
    heard.count_down();
  };
  // On a busy machine, the ranks can launch their graphs seconds apart.
  run_gpu_ranks(2, body, {.collective = std::chrono::milliseconds(8000)});
  EXPECT_TRUE(text.starts_with("broadcast of 4 bytes in step 5, rank 0 of a group of 2 (device 0, ")) << text;
}

// The errors on two ranks when rank 1 stalls a graph's all_reduce in the third launch; `call_on` makes other
// calls after it. The abort waits for the graphs, which the error destroys.
std::vector<std::string> stalled_replay(const std::function<void(Communicator& world, const Tensor& y)>& call_on) {
  std::vector<std::string> heard(2, "nothing");
  setenv("WEFT_EMULATED_NCCL_FAULT", "1:2:stall", 1);
  const GpuBody body = [&](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1, 2}), y = floats(ctx, {3});
    ctx.synchronize();
    try {
      Graph graph(ctx, [&] { world.all_reduce(x.tensor({2})); });
      for (int64_t step = 1; step <= 3; ++step) {
        world.set_step(step);
        graph.launch();
        if (step == 3) call_on(world, y.tensor({1}));
        ctx.synchronize();
      }
    } catch (const Error& e) {
      heard[static_cast<size_t>(world.rank())] = e.what();
    }
  };
  // Long enough for both streams to reach the collective, also on a busy machine.
  run_gpu_ranks(2, body, {.collective = std::chrono::milliseconds(1500)});
  unsetenv("WEFT_EMULATED_NCCL_FAULT");
  return heard;
}

void expect_both_name_the_replayed(const std::vector<std::string>& heard) {
  for (size_t rank = 0; rank < heard.size(); ++rank) {
    const std::string collective = fmt::format("all_reduce of 8 bytes in step 3, rank {} of a group of 2", rank);
    EXPECT_TRUE(heard[rank].starts_with(collective)) << heard[rank];
    EXPECT_NE(heard[rank].find(fmt::format("(device {}, Emulated device)", rank)), std::string::npos) << heard[rank];
  }
}

TEST(NcclGraph, ThatStallsIsDestroyedByTheErrorOfEachRank) {
  expect_both_name_the_replayed(stalled_replay([](Communicator&, const Tensor&) {}));
}

// Fills the queue: the host then waits inside a call when everything is aborted.
TEST(NcclGraph, ThatStallsIsNamedAndDestroyedThoughTheHostKeepsCalling) {
  expect_both_name_the_replayed(stalled_replay([](Communicator& world, const Tensor& y) {
    for (;;) world.all_reduce(y);
  }));
}

}  // namespace
}  // namespace weft::testing
