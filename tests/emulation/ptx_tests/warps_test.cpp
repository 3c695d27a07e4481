// tests/emulation/ptx_tests/warps_test.cpp: instructions that lanes execute together, and branches. The matrix layouts
// are those of the PTX ISA ("Matrix Fragments for mma.m16n8k16 with floating point type", "ldmatrix") and of CUTLASS.
#include <bit>
#include <numeric>

#include "tests/emulation/ptx_tests/ptx_fixture.h"

namespace weft::emulation::ptx {
namespace {

// %r0: the lane; %rd8 and %rd9: the lane's words of arrays 0 and 1.
const std::string kLane =
    "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd7, %r0, 4;\nadd.s64 %rd8, %rd0, %rd7;\nadd.s64 %rd9, %rd1, %rd7;\n";

std::vector<uint32_t> lanes() {
  std::vector<uint32_t> all(32);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// What each lane has after a shuffle of the lanes' numbers; in bit 8, its predicate.
std::vector<uint32_t> shuffled(const std::string& mode, const std::string& operands) {
  std::vector<uint32_t> in = lanes(), out(32);
  PtxKernel{.body = kLane + "ld.global.u32 %r1, [%rd8];\nshfl.sync." + mode + ".b32 %r2|%p1, %r1, " + operands +
                    ", -1;\nselp.u32 %r3, 256, 0, %p1;\nor.b32 %r2, %r2, %r3;\nst.global.u32 [%rd9], %r2;"}
      .run(in, out);
  return out;
}

TEST(PtxShuffles, ReachLanesOfTheirSegmentOnly) {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t first = lane / 8 * 8, kIn = 256;
    EXPECT_EQ(shuffled("bfly", "5, 31")[lane], (lane ^ 5) | kIn);
    EXPECT_EQ(shuffled("idx", "3, 31")[lane], 3 | kIn);
    EXPECT_EQ(shuffled("idx", "3, 0x181F")[lane], (first + 3) | kIn);  // segments of 8 lanes
    EXPECT_EQ(shuffled("up", "2, 0")[lane], lane < 2 ? lane : (lane - 2) | kIn);
    EXPECT_EQ(shuffled("up", "2, 0x1800")[lane], lane - first < 2 ? lane : (lane - 2) | kIn);
    EXPECT_EQ(shuffled("down", "2, 31")[lane], lane >= 30 ? lane : (lane + 2) | kIn);
    EXPECT_EQ(shuffled("down", "2, 0x181F")[lane], lane - first >= 6 ? lane : (lane + 2) | kIn);
  }
}

TEST(PtxVotes, AreThePredicatesOfTheLanes) {
  std::vector<uint32_t> in = lanes(), out(32);
  PtxKernel{.body = kLane +
                    "setp.lt.u32 %p1, %r0, 5;\nvote.sync.ballot.b32 %r1, %p1, -1;\n"
                    "vote.sync.ballot.b32 %r2, !%p1, -1;\nsub.s32 %r1, %r1, %r2;\nst.global.u32 [%rd9], %r1;"}
      .run(in, out);
  EXPECT_EQ(out, std::vector<uint32_t>(32, 31u - ~31u));
}

TEST(PtxBranches, MeetAgainAfterLoopsOfDifferentLength) {
  std::vector<uint32_t> in = lanes(), out(32);
  const PtxKernel kernel{.body = kLane + R"(mov.u32 %r1, 0;
mov.u32 %r2, 0;
LOOP:
setp.ge.u32 %p1, %r1, %r0;
@%p1 bra DONE;
add.s32 %r2, %r2, %r1;
add.s32 %r1, %r1, 1;
bra.uni LOOP;
DONE:
shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;
st.global.u32 [%rd9], %r3;)"};
  const Counts counts = kernel.run(in, out);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], (lane ^ 1) * ((lane ^ 1) - 1) / 2) << lane;
  EXPECT_EQ(counts.divergent_branches, 31);
}

TEST(PtxCalls, PassParametersAndResults) {
  std::vector<uint32_t> in = lanes(), out(32);
  PtxKernel{.body = kLane + R"({ .param .b64 p0;
.param .align 8 .b8 result[8];
cvt.u64.u32 %rd4, %r0;
st.param.b64 [p0+0], %rd4;
call.uni (result), twice, (p0);
ld.param.b64 %rd4, [result+0];
}
cvt.u32.u64 %r1, %rd4;
st.global.u32 [%rd9], %r1;)",
            .declarations = R"(.func (.param .align 8 .b8 result[8]) twice(.param .b64 x)
{ .reg .b64 %rd<9>;
.reg .pred %p<3>;
.local .align 8 .b8 stack[16];
mov.u64 %rd2, stack;
cvta.local.u64 %rd1, %rd2;
ld.param.b64 %rd8, [x];
setp.eq.u64 %p1, %rd8, 7;
st.param.b64 [result+0], %rd8;
@%p1 ret;
st.u64 [%rd1+8], %rd8;
ld.local.u64 %rd2, [%rd2+8];
add.s64 %rd8, %rd8, %rd2;
st.param.b64 [result+0], %rd8;
ret;
})"}
      .run(in, out);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane == 7 ? 7 : 2 * lane);
}

// Places of element i of a lane, by the formulas of the PTX ISA's figures.
struct Place {
  int row, column;
  bool operator==(const Place&) const = default;
};
Place place_of_a(int lane, int i) {
  const int group = lane >> 2, in_group = lane % 4;
  const int row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
  const int column = i < 4 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8;
  return {row, column};
}
Place place_of_b(int lane, int i) { return {i < 2 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8, lane >> 2}; }
Place place_of_c(int lane, int i) { return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)}; }

// NVIDIA's CUTLASS describes the same places in another way, as strides (include/cute/atom/mma_traits_sm80.hpp,
// SM80_16x8x16_F32BF16BF16F32_TN; B is transposed there): of lane % 4, of lane / 4, and of each bit of i, in a matrix
// stored by columns.
struct Strides {
  int in_group, group, bits[3], num_rows;
  Place operator()(int lane, int i) const {
    const int at = lane % 4 * in_group + lane / 4 * group + i % 2 * bits[0] + i / 2 % 2 * bits[1] + i / 4 * bits[2];
    return {at % num_rows, at / num_rows};
  }
};

TEST(PtxMatrices, PlacesAreThoseOfCutlass) {
  constexpr Strides kA{32, 1, {16, 8, 128}, 16}, kTransposedB{16, 1, {8, 64, 0}, 8}, kC{32, 1, {16, 8, 0}, 16};
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) EXPECT_EQ(place_of_a(lane, i), kA(lane, i));
    for (int i = 0; i < 4; ++i) {
      const auto [column, row] = kTransposedB(lane, i);
      EXPECT_EQ(place_of_b(lane, i), (Place{row, column}));
      EXPECT_EQ(place_of_c(lane, i), kC(lane, i));
    }
  }
}

TEST(PtxMatrices, MultiplyInTheLayoutOfTheFigures) {
  for (const bool bf16 : {true, false}) {
    const auto half = [&](int x) {  // small whole numbers
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
      return bf16 ? bits >> 16 : std::bit_cast<uint16_t>(static_cast<_Float16>(x));
    };
    const auto a = [](int row, int k) { return (row * 7 + k * 3) % 11 - 5; };
    const auto b = [](int k, int column) { return (k * 5 + column * 2) % 13 - 6; };
    std::vector<uint32_t> in(size_t{32} * 10);
    std::vector<float> out(size_t{32} * 4);
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t* const words = in.data() + lane * 10;
      for (int i = 0; i < 8; ++i)
        words[i / 2] |= half(a(place_of_a(lane, i).row, place_of_a(lane, i).column)) << (16 * (i % 2));
      for (int i = 0; i < 4; ++i)
        words[4 + i / 2] |= half(b(place_of_b(lane, i).row, place_of_b(lane, i).column)) << (16 * (i % 2));
      for (int i = 0; i < 4; ++i) words[6 + i] = std::bit_cast<uint32_t>(static_cast<float>(lane * 100 + i));
    }
    std::string body =
        "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 40;\nadd.s64 %rd0, %rd0, %rd2;\n"
        "mul.wide.u32 %rd2, %r0, 16;\nadd.s64 %rd1, %rd1, %rd2;\n";
    for (int i = 0; i < 6; ++i)
      body += "ld.global.u32 %r" + std::to_string(4 + i) + ", [%rd0+" + std::to_string(4 * i) + "];\n";
    for (int i = 0; i < 4; ++i)
      body += "ld.global.f32 %f" + std::to_string(i) + ", [%rd0+" + std::to_string(24 + 4 * i) + "];\n";
    const std::string type = bf16 ? "bf16.bf16" : "f16.f16";
    PtxKernel{.body = body + "mma.sync.aligned.m16n8k16.row.col.f32." + type +
                      ".f32 {%f4, %f5, %f6, %f7}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f0, %f1, %f2, %f3};\n"
                      "st.global.v4.f32 [%rd1], {%f4, %f5, %f6, %f7};"}
        .run(in, out);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const Place c = place_of_c(lane, i);
        int sum = lane * 100 + i;
        for (int k = 0; k < 16; ++k) sum += a(c.row, k) * b(k, c.column);
        EXPECT_EQ(out[static_cast<size_t>(lane * 4 + i)], static_cast<float>(sum)) << lane << ", " << i;
      }
  }
}

TEST(PtxMatrices, LoadInTheLayoutOfTheFigures) {
  for (const bool transposed : {false, true}) {
    // Element (row, column) of matrix m is 100 m + 10 row + column; row r of matrix m is in shared memory at 16 (8 m +
    // r).
    std::vector<uint16_t> in(256);
    for (int i = 0; i < 256; ++i)
      in[static_cast<size_t>(i)] = static_cast<uint16_t>(i / 64 * 100 + i / 8 % 8 * 10 + i % 8);
    std::vector<uint32_t> out(128);
    PtxKernel{.body = std::string(R"(.shared .align 16 .b8 tile[512];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd2, %r0, 16;
add.s64 %rd0, %rd0, %rd2;
add.s64 %rd1, %rd1, %rd2;
mov.u32 %r1, tile;
shl.b32 %r2, %r0, 4;
add.s32 %r1, %r1, %r2;
ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd0];
st.shared.v4.u32 [%r1], {%r4, %r5, %r6, %r7};
bar.warp.sync -1;
)") + "ldmatrix.sync.aligned.m8n8.x4." +
                      (transposed ? "trans." : "") +
                      "shared.b16 {%r4, %r5, %r6, %r7}, [%r1];\nst.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};"}
        .run(in, out);
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < 4; ++matrix) {
        const int row = lane / 4, column = lane % 4 * 2;
        const int first = transposed ? 10 * column + row : 10 * row + column, second = first + (transposed ? 10 : 1);
        // CUTLASS (include/cute/atom/copy_traits_sm75.hpp): bits from the first of a matrix of 8 x 8 elements of 16
        // bits
        const int bit = transposed ? lane % 4 * 256 + lane / 4 * 16 : lane * 32, next = bit + (transposed ? 128 : 16);
        EXPECT_EQ(first, bit / 128 * 10 + bit % 128 / 16);
        EXPECT_EQ(second, next / 128 * 10 + next % 128 / 16);
        EXPECT_EQ(out[static_cast<size_t>(lane * 4 + matrix)],
                  static_cast<uint32_t>(100 * matrix + first) | static_cast<uint32_t>(100 * matrix + second) << 16);
      }
  }
}

}  // namespace
}  // namespace weft::emulation::ptx
