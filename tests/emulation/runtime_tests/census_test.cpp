// tests/emulation/runtime_tests/census_test.cpp: work is counted when it is done, by name, also in each replay.
#include "tests/emulation/runtime/census.h"

#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

template <typename T>
__global__ void double_it(T* x) {
  *x *= 2;
}

class CensusTest : public DeviceTest {
 protected:
  emulation::Count since(const std::string& name) const {  // the test began
    const auto of = [&](const emulation::Census& all) {
      return all.contains(name) ? all.at(name) : emulation::Count{};
    };
    const emulation::Count now = of(emulation::census(0)), then = of(before_);
    return {now.calls - then.calls, now.bytes - then.bytes};
  }
  const emulation::Census before_ = emulation::census(0);
};

TEST_F(CensusTest, NamesKernelsCopiesAndWaits) {
  auto* const data = on_device<float>({1, 2});
  EXPECT_CUDA(launch(nullptr, double_it<float>, 1, 1, 0, data));
  EXPECT_EQ(since("kernel double_it<float>").calls, 0);  // not done yet
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(since("kernel double_it<float>").calls, 1);
  EXPECT_EQ(since("wait cudaDeviceSynchronize").calls, 1);
  EXPECT_EQ(since("copy pageable host to device"), (emulation::Count{1, 2 * sizeof(float)}));
}

TEST_F(CensusTest, CountsEachReplayOfAGraph) {
  auto* const data = on_device<int>({1});
  cudaStream_t stream = new_stream();
  EXPECT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_CUDA(launch(stream, double_it<int>, 1, 1, 0, data));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
  EXPECT_CUDA(cudaGraphInstantiate(&executable, graph));
  for (int i = 0; i < 3; ++i) EXPECT_CUDA(cudaGraphLaunch(executable, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(since("kernel double_it<int>").calls, 3);
  EXPECT_EQ(since("cudaGraphLaunch").calls, 3);
  EXPECT_CUDA(cudaGraphExecDestroy(executable));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace weft::testing
