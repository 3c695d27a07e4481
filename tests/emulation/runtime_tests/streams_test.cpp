// tests/emulation/runtime_tests/streams_test.cpp: streams and events order work, and nothing else does.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

class StreamsTest : public DeviceTest {
 protected:
  // Runs `order` with each seed on a value that was 0; counts how often another stream read it as 1.
  template <typename Order>
  int times_seen(Order order) {
    int seen = 0;
    auto* const from = fresh<int>(1);
    auto* const to = fresh<int>(1);
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      emulation::set_seed(seed);
      EXPECT_CUDA(cudaMemset(from, 0, sizeof(int)));
      EXPECT_CUDA(cudaDeviceSynchronize());
      EXPECT_CUDA(launch(first_, set, 1, 1, 0, from, 1));
      order();
      EXPECT_CUDA(launch(second_, copy, 1, 1, 0, to, from));
      EXPECT_CUDA(cudaStreamSynchronize(second_));
      seen += on_host(to, 1)[0] == 1;
    }
    return seen;
  }

  cudaEvent_t new_event() {
    cudaEvent_t event = nullptr;
    EXPECT_CUDA(cudaEventCreate(&event));
    return event;
  }

  cudaStream_t first_ = new_stream(), second_ = new_stream();
};

TEST_F(StreamsTest, AStreamIsInOrder) {
  auto* const data = on_device<int>({0});
  for (int digit = 1; digit <= 5; ++digit) EXPECT_CUDA(launch(first_, append, 1, 1, 0, data, digit));
  EXPECT_EQ(on_host(data, 1)[0], 12345);
}

TEST_F(StreamsTest, AnEventOrdersTwoStreamsAndItsLackShows) {
  const cudaEvent_t event = new_event();
  EXPECT_EQ(times_seen([&] {
              EXPECT_CUDA(cudaEventRecord(event, first_));
              EXPECT_CUDA(cudaStreamWaitEvent(second_, event));
            }),
            static_cast<int>(kSeeds));
  const int seen = times_seen([] {});
  EXPECT_GT(seen, 0);
  EXPECT_LT(seen, static_cast<int>(kSeeds));
  EXPECT_CUDA(cudaEventDestroy(event));
}

TEST_F(StreamsTest, AnEventRecordedTooEarlyShows) {
  const cudaEvent_t event = new_event();
  EXPECT_CUDA(cudaEventRecord(event, first_));
  EXPECT_LT(times_seen([&] { EXPECT_CUDA(cudaStreamWaitEvent(second_, event)); }), static_cast<int>(kSeeds));
  EXPECT_CUDA(cudaEventDestroy(event));
}

TEST_F(StreamsTest, TheNullStreamIsOrderedWithBlockingStreamsOnly) {
  cudaStream_t blocking = nullptr;
  EXPECT_CUDA(cudaStreamCreate(&blocking));
  std::swap(first_, blocking);
  second_ = nullptr;
  EXPECT_EQ(times_seen([] {}), static_cast<int>(kSeeds));
  std::swap(first_, blocking);
  EXPECT_LT(times_seen([] {}), static_cast<int>(kSeeds));
}

TEST_F(StreamsTest, NothingIsDoneBeforeSomebodyWaits) {
  bool done = false;
  EXPECT_CUDA(emulation::enqueue(first_, [&] { done = true; }));
  EXPECT_FALSE(done);
  EXPECT_CUDA(cudaStreamSynchronize(first_));
  EXPECT_TRUE(done);
}

TEST_F(StreamsTest, WhoAsksAgainAndAgainSeesTheEnd) {
  const cudaEvent_t event = new_event();
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  auto* const data = on_device<int>({0});
  EXPECT_CUDA(launch(first_, append, 1, 1, 0, data, 1));
  EXPECT_CUDA(launch(first_, append, 1, 1, 0, data, 2));
  EXPECT_CUDA(cudaEventRecord(event, first_));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  while (cudaStreamQuery(first_) == cudaErrorNotReady) continue;
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(on_host(data, 1)[0], 12);
  EXPECT_CUDA(cudaEventDestroy(event));
}

TEST_F(StreamsTest, EventsTellTheTimeBetweenThem) {
  const cudaEvent_t start = new_event(), end = new_event();
  float milliseconds = -1.0f;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
  EXPECT_CUDA(cudaEventRecord(start, first_));
  EXPECT_CUDA(cudaEventRecord(end, first_));
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
  EXPECT_CUDA(cudaEventSynchronize(end));
  EXPECT_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 0.0f);
  EXPECT_CUDA(cudaEventDestroy(start));
  EXPECT_CUDA(cudaEventDestroy(end));
}

TEST_F(StreamsTest, HostFunctionsRunInTheStreamsOrder) {
  auto* const data = on_device<int>({0});
  int* pinned = nullptr;
  EXPECT_CUDA(cudaMallocHost(&pinned, sizeof(int)));
  EXPECT_CUDA(launch(first_, set, 1, 1, 0, data, 4));
  EXPECT_CUDA(cudaMemcpyAsync(pinned, data, sizeof(int), cudaMemcpyDeviceToHost, first_));
  EXPECT_CUDA(cudaLaunchHostFunc(
      first_, [](void* value) { ++*static_cast<int*>(value); }, pinned));
  EXPECT_CUDA(cudaStreamSynchronize(first_));
  EXPECT_EQ(*pinned, 5);
  EXPECT_CUDA(cudaFreeHost(pinned));
}

TEST_F(StreamsTest, ADestroyedStreamsWorkIsStillDone) {
  auto* const data = on_device<int>({0});
  EXPECT_CUDA(launch(first_, set, 1, 1, 0, data, 4));
  EXPECT_CUDA(cudaStreamDestroy(first_));
  EXPECT_EQ(on_host(data, 1)[0], 4);
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaErrorInvalidResourceHandle);
}

TEST_F(StreamsTest, AJobThatWaitsForAnotherStreamLetsItGoOn) {
  bool arrived = false, left = false;
  EXPECT_CUDA(emulation::enqueue_polled(first_, [&] { return arrived; }));
  EXPECT_CUDA(emulation::enqueue(first_, [&] { left = true; }));
  EXPECT_CUDA(emulation::enqueue(second_, [&] { arrived = true; }));
  EXPECT_CUDA(cudaStreamSynchronize(first_));
  EXPECT_TRUE(left);
}

TEST_F(StreamsTest, AdvanceDoesOnePieceOfWork) {
  int done = 0;
  EXPECT_CUDA(emulation::enqueue_polled(first_, [&] { return done == 1; }));
  EXPECT_CUDA(emulation::enqueue(second_, [&] { ++done; }));
  EXPECT_TRUE(emulation::advance());
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(emulation::advance());
  EXPECT_FALSE(emulation::advance());
}

TEST_F(StreamsTest, AJobsExceptionIsTheDevicesFault) {
  EXPECT_CUDA(emulation::enqueue(first_, [] { throw std::runtime_error("no such layout"); }));
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaErrorLaunchFailure);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorLaunchFailure), "unspecified launch failure: no such layout");
}

TEST_F(StreamsTest, ThreadsEachUseStreamsOfTheirOwn) {
  constexpr int kThreads = 4, kSteps = 50;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&right, t] {
      const cudaStream_t stream = new_stream();
      auto* const data = on_device<int>({t});
      int value = t;
      for (int i = 0; i < kSteps; ++i) {
        EXPECT_CUDA(launch(stream, append, 1, 1, 0, data, i % 10));
        EXPECT_CUDA(cudaStreamSynchronize(stream));
        value = static_cast<int>(static_cast<unsigned>(value) * 10u + static_cast<unsigned>(i % 10));
        if (i % 8 == 7) {
          value = t;
          EXPECT_CUDA(launch(stream, set, 1, 1, 0, data, t));
        }
      }
      int got = -1;
      EXPECT_CUDA(cudaMemcpyAsync(&got, data, sizeof got, cudaMemcpyDeviceToHost, stream));
      right += got == value;
      EXPECT_CUDA(cudaFree(data));
      EXPECT_CUDA(cudaStreamDestroy(stream));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads);
}

// A collective over threads: each part waits in its stream for all the others.
TEST_F(StreamsTest, JobsOfSeveralThreadsMeet) {
  constexpr int kThreads = 3;
  std::atomic<int> arrived = 0, left = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      const cudaStream_t stream = new_stream();
      EXPECT_CUDA(emulation::enqueue_polled(stream, [&arrived, here = false]() mutable {
        arrived += !std::exchange(here, true);
        return arrived == kThreads;
      }));
      EXPECT_CUDA(cudaStreamSynchronize(stream));
      ++left;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(left, kThreads);
}

}  // namespace
}  // namespace weft::testing
