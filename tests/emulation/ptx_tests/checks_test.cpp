// tests/emulation/ptx_tests/checks_test.cpp: what the interpreter refuses, with the line of the instruction.
#include "tests/emulation/ptx_tests/ptx_fixture.h"

namespace weft::emulation::ptx {
namespace {

// %r0: the thread; %rd0: its word of array 0.
const std::string kThread = "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd7, %r0, 4;\nadd.s64 %rd8, %rd0, %rd7;\n";
const std::string kShared =
    ".shared .align 16 .b8 tile[4096];\nmov.u32 %r1, tile;\nshl.b32 %r2, %r0, 2;\nadd.s32 %r3, %r1, %r2;\n";

void expect_error(const PtxKernel& kernel, const std::string& part) {
  std::vector<uint32_t> array(256, 1);
  const std::string error = kernel.error(array);
  EXPECT_NE(error.find(part), std::string::npos) << "'" << part << "' is missing in: " << error;
}
void expect_error(const std::string& body, const std::string& part, uint32_t threads = 32) {
  expect_error(PtxKernel{.threads = threads, .body = body}, part);
}
void expect_success(const std::string& body, uint32_t threads = 32, CopyTime copies = CopyTime::random) {
  std::vector<uint32_t> array(256, 1);
  EXPECT_EQ((PtxKernel{.threads = threads, .copies = copies, .body = body}.error(array)), "");
}

TEST(PtxChecks, UnknownInstructionsRegistersAndNamesAreErrorsWithTheirLine) {
  expect_error("frobnicate.b32 %r1, %r2;", "test.ptx:15: frobnicate.b32 is not a known instruction");
  expect_error("add.s32 %r1, %r2;", "add.s32 with 2 operands");
  expect_error("add.s32 %r1, %r99, 1;", "%r99 is not a known register");
  expect_error("add.s32 %r1, %rd1, 1;", "%rd1 has another size than add.s32 needs");
  expect_error("mov.u64 %rd1, nowhere;", "nowhere is not a known name");
  expect_error("bra NOWHERE;", "there is no label NOWHERE");
  expect_error(".frob 3;", ".frob");
}

TEST(PtxChecks, AccessesAreAlignedAndWithinTheirSpace) {
  expect_error("ld.global.u32 %r1, [%rd0+2];", "not a multiple");
  expect_error("ld.global.u32 %r1, [%rd0+1024];", "outside of device memory");
  expect_error("mov.u64 %rd1, 0;\nst.global.u32 [%rd1], 1;", "outside of device memory");
  expect_error(kShared + "st.shared.v4.u32 [%r1+8], {%r1, %r1, %r1, %r1};", "not a multiple");
  expect_error(kShared + "ld.shared.u32 %r4, [%r1+4096];", "4 bytes at 4096 of 4096 bytes of shared memory");
  expect_error(".local .align 8 .b8 stack[8];\nmov.u64 %rd1, stack;\nst.local.u32 [%rd1+8], 1;",
               "of 8 bytes of local memory");
  expect_error("ld.param.u32 %r1, [array0+8];", "of 8 bytes of param memory");
}

TEST(PtxChecks, ArgumentsAndThreadsAreThoseOfTheKernel) {
  std::vector<uint32_t> array(8);
  PtxKernel kernel{.threads = 1024, .body = ""};
  EXPECT_EQ(kernel.error(array), "");
  kernel.threads = 1056;
  EXPECT_NE(kernel.error(array).find("1056 threads, but __launch_bounds__ allows 1024"), std::string::npos);
}

TEST(PtxChecks, LanesMustExecuteTogetherWhatIsAligned) {
  const std::string odd = kThread + "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p1, %r1, 0;\n";
  expect_error(odd + "@%p1 bra SKIP;\nbar.sync 0;\nSKIP:\nadd.s32 %r1, %r1, 1;",
               "lanes wait for others that do not come");
  expect_error(odd + "@%p1 bra SKIP;\nshfl.sync.idx.b32 %r4, %r0, 0, 31, -1;\nSKIP:\nadd.s32 %r1, %r1, 1;",
               "lanes wait for others that do not come");
  expect_error(kThread + "shfl.sync.idx.b32 %r4, %r0, 0, 31, 1;", "a lane that its mask does not contain");
  expect_error(
      kThread +
          "mov.f32 %f0, 0f00000000;\nmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, "
          "{%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f0, %f0, %f0, %f0};",
      "in a warp of fewer than 32 lanes", 16);
}

TEST(PtxChecks, AShuffleReadsOnlyLanesThatExecuteIt) {
  expect_error("mov.u32 %r0, %tid.x;\nshfl.sync.idx.b32 %r1, %r0, 20, 31, 0xFFFF;",
               "from a lane that does not execute it", 16);
}

TEST(PtxChecks, SharedMemoryNeedsABarrierBetweenThreads) {
  const std::string store = kThread + kShared + "st.shared.u32 [%r3], %r0;\n";
  const std::string other = "xor.b32 %r4, %r3, 4;\n",
                    far = "xor.b32 %r4, %r3, 128;\n";  // of the same warp, of another one
  const std::string load = "ld.shared.u32 %r5, [%r4];\n", write = "st.shared.u32 [%r4], %r0;\n";
  expect_error(store + other + load, "races for shared memory with the store of line");
  expect_error(store + other + write, "races for shared memory with the store of line");
  expect_error(kThread + kShared + "ld.shared.u32 %r5, [%r3];\n" + other + write,
               "races for shared memory with the load of line");
  expect_error(store + "bar.warp.sync -1;\n" + far + load, "races for shared memory", 64);
  expect_success(store + "bar.warp.sync -1;\n" + other + load);
  expect_success(store + "bar.sync 0;\n" + far + load, 64);
  expect_success(store + "ld.shared.u32 %r5, [%r3];");
  // A load by the thread itself does not hide an earlier one by another thread.
  expect_error(store + "bar.sync 0;\n" + other + load + "ld.shared.u32 %r6, [%r3];\nst.shared.u32 [%r3], %r0;",
               "with the load of line");
}

TEST(PtxChecks, AnAsynchronousCopyMustBeAwaitedBeforeItIsRead) {
  const std::string copy =
      "mov.u32 %r0, %tid.x;\nshl.b32 %r2, %r0, 4;\n.shared .align 16 .b8 tile[4096];\nmov.u32 %r1, tile;\n"
      "add.s32 %r3, %r1, %r2;\nmul.wide.u32 %rd7, %r0, 16;\nadd.s64 %rd8, %rd0, %rd7;\n"
      "cp.async.cg.shared.global [%r3], [%rd8], 16, 16;\ncp.async.commit_group;\n";
  const std::string load = "ld.shared.u32 %r5, [%r3];\n";
  for (const CopyTime when : {CopyTime::early, CopyTime::late}) {
    std::vector<uint32_t> array(256, 1);
    const auto error = [&](const std::string& body) { return PtxKernel{.copies = when, .body = body}.error(array); };
    EXPECT_NE(error(copy + load).find("while the asynchronous copy of line"), std::string::npos);
    EXPECT_NE(error(copy + "cp.async.wait_group 1;\n" + load).find("while the asynchronous copy of line"),
              std::string::npos);
    EXPECT_NE(error(copy + "cp.async.wait_group 0;\nxor.b32 %r3, %r3, 16;\n" + load).find("races"), std::string::npos);
    EXPECT_EQ(error(copy + "cp.async.wait_group 0;\n" + load), "");
    EXPECT_EQ(error(copy + "cp.async.wait_group 0;\nbar.sync 0;\nxor.b32 %r3, %r3, 16;\n" + load), "");
  }
}

TEST(PtxChecks, ACopyOfNoBytesWritesZeros) {
  std::vector<uint32_t> array(4, 7), out(4, 7);
  PtxKernel{.threads = 1,
            .body =
                ".shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\ncp.async.cg.shared.global [%r1], [%rd0], 16, 0;\n"
                "cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1];\n"
                "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};"}
      .run(array, out);
  EXPECT_EQ(out, std::vector<uint32_t>(4, 0));
}

TEST(PtxChecks, UndefinedRegistersAndSharedMemoryAreNan) {
  std::vector<float> out(2, 0);
  PtxKernel{.threads = 1,
            .body = ".shared .align 4 .b8 tile[4];\nld.shared.f32 %f1, [tile];\nst.global.v2.f32 [%rd0], {%f0, %f1};"}
      .run(out);
  EXPECT_TRUE(out[0] != out[0] && out[1] != out[1]);
}

TEST(PtxChecks, OrdersOfBlocksDifferBySeed) {
  std::vector<uint32_t> last(1);
  std::vector<uint32_t> seen;
  for (uint64_t seed = 1; seed < 9; ++seed) {
    PtxKernel{.threads = 1, .blocks = 8, .seed = seed, .body = "mov.u32 %r0, %ctaid.x;\nst.global.u32 [%rd0], %r0;"}
        .run(last);
    seen.push_back(last[0]);
  }
  EXPECT_NE(seen, std::vector<uint32_t>(8, seen[0]));
}

}  // namespace
}  // namespace weft::emulation::ptx
