// tests/emulation/backend/graph_priorities_test.cpp: work that a graph records keeps the priority of its stream.
// Results do not depend on that, so the test counts orders.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tensor/context.h"
#include "tests/emulation/runtime/device.h"

namespace weft::testing {
namespace {

TEST(GraphPriorities, OfCommunicationAreKept) {
  setenv("WEFT_CUDA_MODULE", WEFT_BINARY_DIR "/emulated/libweft_cuda.so", 1);
  constexpr int kReplays = 400, kOthers = 7;
  emulation::set_seed(1);
  Context ctx(Device::cuda);
  const auto stream = static_cast<cudaStream_t>(ctx.runtime().stream());
  std::vector<cudaStream_t> streams(kOthers + 1);
  std::vector<int> order;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  for (cudaStream_t& one : streams)  // the first has a greater priority
    ASSERT_EQ(cudaStreamCreateWithPriority(&one, cudaStreamNonBlocking, &one == streams.data() ? -1 : 0), cudaSuccess);
  const auto graph = ctx.runtime().record([&] {
    for (int i = 0; i <= kOthers; ++i) {
      const cudaStream_t one = streams[static_cast<size_t>(i)];
      cudaEventRecord(event, stream), cudaStreamWaitEvent(one, event);
      emulation::enqueue(one, [&order, i] { order.push_back(i); });
    }
    for (const cudaStream_t one : streams) cudaEventRecord(event, one), cudaStreamWaitEvent(stream, event);
  });
  int first = 0;
  for (int i = 0; i < kReplays; ++i) {
    order.clear();
    graph->replay();
    ctx.synchronize();
    ASSERT_EQ(order.size(), kOthers + 1u);
    first += order[0] == 0 ? 1 : 0;
  }
  EXPECT_GT(first, kReplays / 3);  // of nodes of the same priority, each is the first in an eighth of the replays
  EXPECT_LT(first, kReplays);      // a priority guarantees no order
}

}  // namespace
}  // namespace weft::testing
