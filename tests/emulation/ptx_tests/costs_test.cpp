// tests/emulation/ptx_tests/costs_test.cpp: counts of sectors, bank conflicts and loads that wait for one another.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulation/ptx_tests/ptx_fixture.h"

namespace weft::emulation::ptx {
namespace {

// %rd8: the address of array 0, plus `stride` bytes for each thread.
std::string at_stride(int stride) {
  return "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd7, %r0, " + std::to_string(stride) + ";\nadd.s64 %rd8, %rd0, %rd7;\n";
}
// %r3: the same in shared memory.
std::string in_shared(int stride) {
  return ".shared .align 16 .b8 tile[8192];\nmov.u32 %r1, tile;\nmov.u32 %r0, %tid.x;\nmul.lo.s32 %r2, %r0, " +
         std::to_string(stride) + ";\nadd.s32 %r3, %r1, %r2;\n";
}

using Moved = std::pair<int64_t, int64_t>;  // and needed
Moved moved(const Counts::Share& share) { return {share.moved, share.needed}; }

Counts costs_of(const std::string& body, uint32_t threads = 32) {
  static std::vector<uint32_t> array(4096 / sizeof(uint32_t) + 64);
  std::ranges::fill(array, 0u);
  return PtxKernel{.threads = threads, .measures_costs = true, .body = body}.run(array);
}

TEST(PtxCosts, OfGlobalMemoryAreSectorsOf32Bytes) {
  const std::string align = "and.b64 %rd8, %rd8, -32;\n";  // the array's address may be any
  const auto sectors = [&](int stride, const std::string& load) {
    const Counts counts = costs_of(at_stride(0) + "add.s64 %rd8, %rd0, 31;\n" + align + "mul.wide.u32 %rd7, %r0, " +
                                   std::to_string(stride) + ";\nadd.s64 %rd8, %rd8, %rd7;\n" + load);
    const bool is_store = load.starts_with("st");
    EXPECT_EQ(moved(is_store ? counts.stores : counts.loads),
              moved(is_store ? counts.stores_at_once : counts.loads_at_once));
    return moved(is_store ? counts.stores : counts.loads);
  };
  EXPECT_EQ(sectors(4, "ld.global.u32 %r4, [%rd8];"), Moved(4, 4));
  EXPECT_EQ(sectors(4, "ld.global.u32 %r4, [%rd8+4];"), Moved(5, 4));
  EXPECT_EQ(sectors(0, "ld.global.u32 %r4, [%rd8];"), Moved(1, 1));
  EXPECT_EQ(sectors(16, "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd8];"), Moved(16, 16));
  EXPECT_EQ(sectors(64, "st.global.u32 [%rd8], %r0;"), Moved(32, 4));
}

// Two warps read the same sectors, and a warp reads halves of a sector one after the other.
TEST(PtxCosts, OfABlockCountASectorOnce) {
  const std::string aligned = at_stride(0) + "add.s64 %rd8, %rd0, 31;\nand.b64 %rd8, %rd8, -32;\n";
  const Counts counts = costs_of(aligned + "ld.global.u64 %rd7, [%rd8];\nld.global.u64 %rd7, [%rd8+16];", 64);
  EXPECT_EQ(moved(counts.loads), Moved(1, 1));
  EXPECT_EQ(moved(counts.loads_at_once), Moved(4, 4));
}

TEST(PtxCosts, OfSharedMemoryAreCyclesOfItsBanks) {
  const auto passes = [](int stride, const std::string& store) {
    return moved(costs_of(in_shared(stride) + store).shared);
  };
  const std::string word = "st.shared.u32 [%r3], %r0;", four = "st.shared.v4.u32 [%r3], {%r0, %r0, %r0, %r0};";
  EXPECT_EQ(passes(4, word), Moved(1, 1));
  EXPECT_EQ(passes(8, word), Moved(2, 1));
  EXPECT_EQ(passes(128, word), Moved(32, 1));
  EXPECT_EQ(passes(132, word), Moved(1, 1));
  EXPECT_EQ(passes(16, four), Moved(4, 4));
  EXPECT_EQ(passes(32, four), Moved(8, 4));
}

TEST(PtxCosts, OfLoadsThatWaitForOneAnotherAreTheirLongestChain) {
  const auto chain = [](const std::string& body, uint32_t threads = 32) { return costs_of(body, threads).load_chains; };
  const std::string first = at_stride(4) + "ld.global.u32 %r4, [%rd8];\n";
  const std::string second = "mul.wide.u32 %rd6, %r4, 4;\nadd.s64 %rd5, %rd0, %rd6;\nld.global.u32 %r5, [%rd5];\n";
  EXPECT_EQ(chain(first), 1);
  EXPECT_EQ(chain(first + "ld.global.u32 %r5, [%rd8+128];\n"), 1);
  EXPECT_EQ(chain(first + second), 2);
  EXPECT_EQ(chain(first + "setp.eq.u32 %p1, %r4, 7;\n@%p1 bra SKIP;\nld.global.u32 %r5, [%rd8];\nSKIP:\n"), 2);
  const std::string shared = in_shared(4) + first + "st.shared.u32 [%r3], %r4;\nbar.sync 0;\n";
  EXPECT_EQ(chain(shared + "ld.shared.u32 %r4, [%r1];\n" + second, 64), 2);
}

TEST(PtxCosts, EstimateInstructionsOfMachineCode) {
  EXPECT_EQ(issue_slots("mov.u32"), 0);
  EXPECT_EQ(issue_slots("xor.b32"), 0.5);
  EXPECT_EQ(issue_slots("add.f32"), 1);
  EXPECT_EQ(issue_slots("add.s64"), 2);
  EXPECT_EQ(issue_slots("ld.global.v2.u64"), 1);
  EXPECT_EQ(issue_slots("div.rn.f32"), 9);
  const Counts counts = costs_of("mov.u32 %r0, %tid.x;\nadd.s32 %r1, %r0, 1;\nmov.u32 %r2, %r1;");
  EXPECT_EQ(counts.issued, 2);             // add and ret
  EXPECT_EQ(counts.warp_instructions, 5);  // and two mov, ld.param
}

}  // namespace
}  // namespace weft::emulation::ptx
