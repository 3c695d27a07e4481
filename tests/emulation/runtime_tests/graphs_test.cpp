// tests/emulation/runtime_tests/graphs_test.cpp: captured work is recorded, not executed, and can be replayed
// repeatedly.
#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

__global__ void add(int* sum, const int* x, const int* y) { *sum = *x + *y; }

class GraphsTest : public DeviceTest {
 protected:
  GraphsTest() {
    EXPECT_CUDA(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming));
    EXPECT_CUDA(cudaEventCreateWithFlags(&joined_, cudaEventDisableTiming));
  }
  ~GraphsTest() override {
    cudaEventDestroy(forked_);
    cudaEventDestroy(joined_);
  }

  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
    EXPECT_CUDA(cudaStreamBeginCapture(stream_, mode));
  }
  cudaGraphExec_t end() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    EXPECT_CUDA(cudaStreamEndCapture(stream_, &graph));
    EXPECT_CUDA(cudaGraphInstantiate(&executable, graph));
    EXPECT_CUDA(cudaGraphDestroy(graph));
    return executable;
  }
  cudaError_t failed_end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(stream_, &graph);
    EXPECT_EQ(graph, nullptr);
    return status;
  }
  void fork() {
    EXPECT_CUDA(cudaEventRecord(forked_, stream_));
    EXPECT_CUDA(cudaStreamWaitEvent(side_, forked_));
  }
  void join() {
    EXPECT_CUDA(cudaEventRecord(joined_, side_));
    EXPECT_CUDA(cudaStreamWaitEvent(stream_, joined_));
  }

  cudaStream_t stream_ = new_stream(), side_ = new_stream();
  cudaEvent_t forked_ = nullptr, joined_ = nullptr;
};

TEST_F(GraphsTest, CapturedWorkIsDoneByLaunchesAlone) {
  auto* const data = on_device<int>({0});
  begin();
  cudaStreamCaptureStatus status{};
  EXPECT_CUDA(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_CUDA(launch(stream_, append, 1, 1, 0, data, 1));
  EXPECT_CUDA(launch(stream_, append, 1, 1, 0, data, 2));
  const cudaGraphExec_t executable = end();
  EXPECT_CUDA(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(on_host(data, 1)[0], 0);
  for (int i = 0; i < 3; ++i) EXPECT_CUDA(cudaGraphLaunch(executable, stream_));
  EXPECT_CUDA(cudaGraphExecDestroy(executable));
  EXPECT_EQ(on_host(data, 1)[0], 121212);
}

TEST_F(GraphsTest, EventsAreTheGraphsDependencies) {
  auto *const x = on_device<int>({0}), *const y = on_device<int>({0}), *const sum = on_device<int>({0});
  begin();
  EXPECT_CUDA(launch(stream_, set, 1, 1, 0, x, 1));
  EXPECT_CUDA(launch(stream_, set, 1, 1, 0, y, 1));
  fork();
  EXPECT_CUDA(launch(side_, append, 1, 1, 0, y, 5));
  EXPECT_CUDA(launch(stream_, append, 1, 1, 0, x, 3));
  join();
  EXPECT_CUDA(launch(stream_, add, 1, 1, 0, sum, x, y));
  const cudaGraphExec_t executable = end();
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    emulation::set_seed(seed);
    EXPECT_CUDA(cudaGraphLaunch(executable, stream_));
    EXPECT_EQ(on_host(sum, 1)[0], 13 + 15);
  }
  EXPECT_CUDA(cudaGraphExecDestroy(executable));
}

TEST_F(GraphsTest, BranchesOfAGraphRunInAnyOrder) {
  auto *const x = on_device<int>({0}), *const y = on_device<int>({1}), *const sum = on_device<int>({0});
  begin();
  EXPECT_CUDA(launch(stream_, set, 1, 1, 0, x, 0));
  fork();
  EXPECT_CUDA(launch(side_, set, 1, 1, 0, x, 7));
  EXPECT_CUDA(launch(stream_, add, 1, 1, 0, sum, x, y));  // should have waited
  join();
  const cudaGraphExec_t executable = end();
  int seen = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    emulation::set_seed(seed);
    EXPECT_CUDA(cudaGraphLaunch(executable, stream_));
    seen += on_host(sum, 1)[0] == 8;
  }
  EXPECT_GT(seen, 0);
  EXPECT_LT(seen, static_cast<int>(kSeeds));
  EXPECT_CUDA(cudaGraphExecDestroy(executable));
}

TEST_F(GraphsTest, AReplayReadsWhatDeviceMemoryHoldsThen) {
  auto *const x = on_device<int>({1}), *const y = on_device<int>({1}), *const sum = on_device<int>({0});
  begin();
  EXPECT_CUDA(launch(stream_, add, 1, 1, 0, sum, x, y));
  const cudaGraphExec_t executable = end();
  for (const int value : {4, 9}) {
    EXPECT_CUDA(launch(stream_, set, 1, 1, 0, x, value));
    EXPECT_CUDA(cudaGraphLaunch(executable, stream_));
    EXPECT_EQ(on_host(sum, 1)[0], value + 1);
  }
  EXPECT_CUDA(cudaGraphExecDestroy(executable));
}

TEST_F(GraphsTest, JobsThatWaitForOthersAreReplayedToo) {
  int others = 0, rounds = 0;
  begin();
  EXPECT_CUDA(emulation::enqueue_polled(stream_, [&] { return rounds < others && ++rounds > 0; }));
  const cudaGraphExec_t executable = end();
  for (int i = 1; i <= 2; ++i) {
    EXPECT_CUDA(cudaGraphLaunch(executable, stream_));
    EXPECT_CUDA(emulation::enqueue(side_, [&] { ++others; }));
    EXPECT_CUDA(cudaStreamSynchronize(stream_));
    EXPECT_EQ(rounds, i);
  }
  EXPECT_CUDA(cudaGraphExecDestroy(executable));
}

TEST_F(GraphsTest, WhatAllocatesOrWaitsMayNotBeCaptured) {
  void* data = nullptr;
  int value = 0;
  auto* const there = on_device<int>({0});
  const auto spoils = [&](auto call) {
    begin();
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(failed_end(), cudaErrorStreamCaptureInvalidated);
  };
  spoils([&] { return cudaMalloc(&data, 1); });
  spoils([&] { return cudaFree(there); });
  spoils([&] { return cudaMallocHost(&data, 1); });
  spoils([&] { return cudaStreamSynchronize(stream_); });
  spoils([&] { return cudaStreamQuery(stream_); });
  spoils([&] { return cudaDeviceSynchronize(); });
  spoils([&] { return cudaEventSynchronize(joined_); });
  spoils([&] { return cudaMemcpyAsync(there, &value, sizeof value, cudaMemcpyHostToDevice, stream_); });
}

TEST_F(GraphsTest, ARelaxedCaptureLetsOthersAllocate) {
  void* data = nullptr;
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_CUDA(cudaMalloc(&data, 1));
  EXPECT_CUDA(cudaGraphExecDestroy(end()));
}

TEST_F(GraphsTest, AStreamThatIsNotJoinedIsAnError) {
  auto* const data = on_device<int>({0});
  begin();
  fork();
  EXPECT_CUDA(launch(side_, set, 1, 1, 0, data, 1));
  EXPECT_EQ(failed_end(), cudaErrorStreamCaptureUnjoined);
  EXPECT_CUDA(launch(side_, set, 1, 1, 0, data, 2));  // the streams are free again
  EXPECT_EQ(on_host(data, 1)[0], 2);
}

TEST_F(GraphsTest, ACaptureDependsOnNothingOutside) {
  EXPECT_CUDA(cudaEventRecord(joined_, side_));
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(stream_, joined_), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(failed_end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphsTest, ACapturedEventIsNoPointInTime) {
  begin();
  EXPECT_CUDA(cudaEventRecord(forked_, stream_));
  EXPECT_EQ(cudaEventSynchronize(forked_), cudaErrorCapturedEvent);
  EXPECT_CUDA(cudaGraphExecDestroy(end()));
  EXPECT_EQ(cudaStreamWaitEvent(side_, forked_), cudaErrorCapturedEvent);
}

}  // namespace
}  // namespace weft::testing
