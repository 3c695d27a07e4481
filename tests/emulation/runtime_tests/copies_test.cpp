// tests/emulation/runtime_tests/copies_test.cpp: the time at which copies access host memory, and refused copies.
#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

class CopiesTest : public DeviceTest {
 protected:
  CopiesTest() { EXPECT_CUDA(cudaMallocHost(&pinned_, 4 * sizeof(int))); }
  ~CopiesTest() override { cudaFreeHost(pinned_); }

  cudaStream_t stream_ = new_stream();
  int* const data_ = fresh<int>(4);
  int* pinned_ = nullptr;
};

TEST_F(CopiesTest, PinnedMemoryIsReadWhenTheCopysTurnComes) {
  *pinned_ = 1;
  EXPECT_CUDA(cudaMemcpyAsync(data_, pinned_, sizeof(int), cudaMemcpyHostToDevice, stream_));
  *pinned_ = 2;  // too early
  EXPECT_EQ(on_host(data_, 1)[0], 2);
}

TEST_F(CopiesTest, PinnedMemoryIsWrittenWhenTheCopysTurnComes) {
  EXPECT_CUDA(cudaMemset(data_, 0, sizeof(int)));
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_CUDA(cudaMemcpyAsync(pinned_, data_, sizeof(int), cudaMemcpyDeviceToHost, stream_));
  EXPECT_EQ(*pinned_, -1);
  EXPECT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(*pinned_, 0);
}

TEST_F(CopiesTest, PageableMemoryIsStagedAtTheCall) {
  int value = 1;
  EXPECT_CUDA(cudaMemcpyAsync(data_, &value, sizeof value, cudaMemcpyHostToDevice, stream_));
  value = 2;
  int back = 0;
  EXPECT_CUDA(cudaMemcpyAsync(&back, data_, sizeof back, cudaMemcpyDeviceToHost, stream_));
  EXPECT_EQ(back, 1);  // a copy to pageable memory has waited
}

TEST_F(CopiesTest, CopiesWithoutAStreamWait) {
  const int values[2] = {3, 4};
  int back[2] = {};
  auto* const other = fresh<int>(2);
  EXPECT_CUDA(cudaMemcpy(data_, values, sizeof values, cudaMemcpyDefault));
  EXPECT_CUDA(cudaMemcpy(other, data_, sizeof values, cudaMemcpyDeviceToDevice));
  EXPECT_CUDA(cudaMemcpy(back, other, sizeof back, cudaMemcpyDefault));
  EXPECT_EQ(back[0], 3);
  EXPECT_EQ(back[1], 4);
}

TEST_F(CopiesTest, FillsAreWork) {
  EXPECT_CUDA(cudaMemsetAsync(data_, 1, 4 * sizeof(int), stream_));
  EXPECT_EQ(on_host(data_, 4), std::vector<int>(4, 0x01010101));
  EXPECT_EQ(cudaMemsetAsync(pinned_, 0, sizeof(int), stream_), cudaErrorInvalidValue);
}

TEST_F(CopiesTest, TheKindMustFitTheMemory) {
  int value = 0;
  EXPECT_EQ(cudaMemcpy(&value, data_, sizeof value, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue),
               "invalid argument: the destination is host memory, against the cudaMemcpyKind");
  EXPECT_EQ(cudaMemcpy(data_, data_, sizeof value, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(pinned_, &value, sizeof value, cudaMemcpyDeviceToHost, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(data_, &value, sizeof value, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
}

TEST_F(CopiesTest, ACopyStaysWithinOneAllocation) {
  int values[8] = {};
  EXPECT_EQ(cudaMemcpy(data_, values, 17, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(data_ + 1, values, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(data_, 0, 17), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaMemcpy(data_ + 1, values, 12, cudaMemcpyHostToDevice));
}

}  // namespace
}  // namespace weft::testing
