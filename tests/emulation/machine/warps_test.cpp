// tests/emulation/machine/warps_test.cpp: shuffles, votes and rendezvous of a warp's lanes.
#include <numeric>

#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

using WarpsTest = DeviceTest;
constexpr unsigned kAll = 0xFFFFFFFFu;

template <typename T>
__global__ void shuffles(T* out, int width) {
  const int i = static_cast<int>(threadIdx.x);
  const T mine = static_cast<T>(i);
  out[i] = __shfl_sync(kAll, mine, 5, width);
  out[32 + i] = __shfl_up_sync(kAll, mine, 3u, width);
  out[64 + i] = __shfl_down_sync(kAll, mine, 3u, width);
  out[96 + i] = __shfl_xor_sync(kAll, mine, 6, width);
  out[128 + i] = __shfl_xor_sync(kAll, mine, 9, width);
}

template <typename T>
class ShufflesTest : public DeviceTest {};
using ShuffledTypes = ::testing::Types<int, unsigned, float, double, int64_t, uint64_t>;
TYPED_TEST_SUITE(ShufflesTest, ShuffledTypes);

TYPED_TEST(ShufflesTest, MoveValuesWithinSegments) {
  for (const int width : {8, 16, 32}) {
    auto* const out = this->template fresh<TypeParam>(160);
    EXPECT_CUDA(this->launch(nullptr, shuffles<TypeParam>, 1, 32, 0, out, width));
    const auto got = this->on_host(out, 160);
    for (int i = 0; i < 32; ++i) {
      const int first = i / width * width, within = i % width;
      const auto at = [&](int row) { return static_cast<int>(got[static_cast<size_t>(row * 32 + i)]); };
      EXPECT_EQ(at(0), first + 5) << width << " " << i;
      EXPECT_EQ(at(1), within >= 3 ? i - 3 : i) << width << " " << i;
      EXPECT_EQ(at(2), within + 3 < width ? i + 3 : i) << width << " " << i;
      EXPECT_EQ(at(3), i ^ 6) << width << " " << i;
      EXPECT_EQ(at(4), (i ^ 9) < first + width ? i ^ 9 : i) << width << " " << i;  // earlier segments can be read
    }
  }
}

__global__ void votes(unsigned* out) {
  const bool odd = threadIdx.x % 2 == 1;
  const unsigned ballot = __ballot_sync(kAll, odd);
  const int any = __any_sync(kAll, threadIdx.x == 7), all = __all_sync(kAll, threadIdx.x != 7);
  out[threadIdx.x] = ballot;
  out[32 + threadIdx.x] = static_cast<unsigned>(any * 2 + all);
}

TEST_F(WarpsTest, VotesAreCountedOverTheWarp) {
  auto* const out = fresh<unsigned>(64);
  EXPECT_CUDA(launch(nullptr, votes, 1, 32, 0, out));
  std::vector<unsigned> expected(64, 2u);
  std::fill_n(expected.begin(), 32, 0xAAAAAAAAu);
  EXPECT_EQ(on_host(out, 64), expected);
}

// Both halves of a warp shuffle independently, one of them more often.
__global__ void halves(int* out) {
  const unsigned lane = threadIdx.x;
  const unsigned mask = lane < 16 ? 0x0000FFFFu : 0xFFFF0000u;
  int value = static_cast<int>(lane);
  for (unsigned i = 0; i < (lane < 16 ? 1u : 3u); ++i) value = __shfl_xor_sync(mask, value, 1);
  out[lane] = value + 100 * __shfl_sync(kAll, value, 31);
}

TEST_F(WarpsTest, PartsOfAWarpMayMeetByThemselves) {
  auto* const out = fresh<int>(32);
  EXPECT_CUDA(launch(nullptr, halves, 1, 32, 0, out));
  const auto got = on_host(out, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], (i ^ 1) + 100 * 30);
}

template <bool with_barrier>
__global__ void rotate(int* out) {
  __shared__ int values[32];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  if constexpr (with_barrier) __syncwarp();
  out[threadIdx.x] = values[(threadIdx.x + 1) % 32];
}

TEST_F(WarpsTest, AMissingWarpBarrierShows) {
  auto* const out = fresh<int>(32);
  std::vector<int> expected(32, 0);
  std::iota(expected.begin(), expected.end() - 1, 1);
  int wrong = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    emulation::set_seed(seed);
    EXPECT_CUDA(launch(nullptr, rotate<true>, 1, 32, 0, out));
    EXPECT_EQ(on_host(out, 32), expected);
    EXPECT_CUDA(launch(nullptr, rotate<false>, 1, 32, 0, out));
    wrong += on_host(out, 32) != expected;
  }
  EXPECT_GT(wrong, 0);
}

__global__ void shuffle_of_some(int* out) {
  if (threadIdx.x < 20) out[threadIdx.x] = __shfl_xor_sync(kAll, 1, 16);
}
__global__ void shuffle_without_oneself(int* out) { out[threadIdx.x] = __shfl_sync(1u, 1, 0); }
__global__ void different_shuffles(int* out) {
  out[threadIdx.x] = threadIdx.x < 16 ? __shfl_sync(kAll, 1, 0) : static_cast<int>(__ballot_sync(kAll, 1));
}

TEST_F(WarpsTest, AMaskThatNamesLanesThatNeverComeIsAnError) {
  const std::string fault = fault_of(shuffle_of_some, 32, fresh<int>(32));
  EXPECT_NE(fault.find("20 are in __shfl_xor_sync at "), std::string::npos) << fault;
  EXPECT_NE(fault.find("12 of 32 have left"), std::string::npos) << fault;
}

TEST_F(WarpsTest, AWarpThatTheBlockDoesNotFillIsNotWhole) {
  EXPECT_NE(fault_of(shuffle_of_some, 20, fresh<int>(32)), "");
}

TEST_F(WarpsTest, AMaskWithoutTheCallingLaneIsAnError) {
  const std::string fault = fault_of(shuffle_without_oneself, 32, fresh<int>(32));
  EXPECT_NE(fault.find("without the lane that calls"), std::string::npos) << fault;
}

TEST_F(WarpsTest, LanesThatCallDifferentThingsDoNotMeet) {
  const std::string fault = fault_of(different_shuffles, 32, fresh<int>(32));
  EXPECT_NE(fault.find("16 are in __shfl_sync"), std::string::npos) << fault;
  EXPECT_NE(fault.find("16 are in a vote"), std::string::npos) << fault;
}

struct Pair {
  int first, second;
};
__global__ void exchange(int* out) {
  Pair all[32];
  emulation::warp_exchange(kAll, Pair{emulation::lane(), static_cast<int>(threadIdx.x / 32)}, all);
  int sum = 0;
  for (const Pair& pair : all) sum += pair.first + 1000 * pair.second;
  out[threadIdx.x] = sum;
}

TEST_F(WarpsTest, EveryLaneReadsWhatAllLaidDown) {
  auto* const out = fresh<int>(64);
  EXPECT_CUDA(launch(nullptr, exchange, 1, 64, 0, out));
  std::vector<int> expected(64, 31 * 16);
  std::fill(expected.begin() + 32, expected.end(), 31 * 16 + 32 * 1000);
  EXPECT_EQ(on_host(out, 64), expected);
}

void add_up(unsigned, int* const lanes[32]) {
  const int sum = std::accumulate(lanes, lanes + 32, 0, [](int total, const int* value) { return total + *value; });
  for (int i = 0; i < 32; ++i) *lanes[i] = sum;
}
__global__ void meet_once(int* out) {
  int mine = static_cast<int>(threadIdx.x);
  emulation::warp_meet<add_up>(kAll, mine, "add_up");
  out[threadIdx.x] = mine;
}

TEST_F(WarpsTest, AMeetingComputesForAllLanes) {
  auto* const out = fresh<int>(32);
  EXPECT_CUDA(launch(nullptr, meet_once, 1, 32, 0, out));
  EXPECT_EQ(on_host(out, 32), std::vector<int>(32, 31 * 16));
}

}  // namespace
}  // namespace weft::testing
