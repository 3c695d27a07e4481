// tests/emulation/ptx_tests/instructions_test.cpp: the result of each instruction of one lane, as the PTX ISA defines
// it: rounding, NaN, subnormal numbers, saturation, shifts beyond the width.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/emulation/ptx_tests/ptx_fixture.h"

namespace weft::emulation::ptx {
namespace {

uint64_t bits(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }
template <typename T>
uint64_t bits(T x) {
  return static_cast<std::make_unsigned_t<T>>(x);
}

struct Case {
  const char* opcode;
  std::vector<uint64_t> operands;
  uint64_t result;
};

// Names of registers by size.
std::string register_of(uint8_t bytes, size_t number) {
  const std::string name = bytes == kPredicate ? "%p" : bytes == 2 ? "%rs" : bytes == 4 ? "%r" : "%rd";
  return name + std::to_string(4 + number);
}

// Code that reads the operands from array 0 and writes the result to 8 bytes of each lane in array 1. `guard` chooses
// lanes.
std::string body_of(const Case& c, const std::string& guard) {
  const Form& form = *find_form(c.opcode, "");
  std::string code =
      "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 8;\nadd.s64 %rd1, %rd1, %rd2;\n"
      "and.b32 %r1, %r0, 1;\nsetp.ne.b32 %p0, %r1, 0;\n";
  std::string operands = register_of(form.operands[0], 0);
  for (size_t i = 1; i < form.operands.size(); ++i) {
    const std::string name = register_of(form.operands[i], i), at = "[%rd0+" + std::to_string(8 * (i - 1)) + "];\n";
    if (form.operands[i] == kPredicate)
      code += "ld.global.u64 %rd3, " + at + "setp.ne.b64 " + name + ", %rd3, 0;\n";
    else
      code += "ld.global.b" + std::to_string(8 * form.operands[i]) + " " + name + ", " + at;
    operands += ", " + name;
  }
  code += guard + c.opcode + std::string(" ") + operands + ";\n";
  const std::string result = register_of(form.operands[0], 0);
  if (form.operands[0] == kPredicate)
    return code + guard + "selp.u64 %rd4, 1, 0, " + result + ";\n" + guard + "st.global.u64 [%rd1], %rd4;\n";
  return code + guard + "st.global.b" + std::to_string(8 * form.operands[0]) + " [%rd1], " + result + ";\n";
}

// Runs a case by all lanes, and by every other lane.
void expect_result(const Case& c) {
  ASSERT_NE(find_form(c.opcode, ""), nullptr) << c.opcode;
  for (const char* guard : {"", "@%p0 ", "@!%p0 "}) {
    std::vector<uint64_t> operands = c.operands, results(32, 0);
    const PtxKernel kernel{.body = body_of(c, guard)};
    kernel.run(operands, results);
    for (size_t lane = 0; lane < 32; ++lane) {
      const bool runs = *guard == 0 || (lane % 2 == 1) == (guard[1] == '%');
      EXPECT_EQ(results[lane], runs ? c.result : 0) << guard << c.opcode << " in lane " << lane;
      if (results[lane] != (runs ? c.result : 0)) break;
    }
  }
}

const float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();

TEST(PtxIntegers, WrapAroundAndDivideTowardZero) {
  for (const Case& c : std::vector<Case>{
           {"add.s32", {bits(0x7FFFFFFF), 1}, bits(kLeast)},
           {"add.s16", {0x7FFF, 1}, 0x8000},
           {"add.s64", {~uint64_t{0}, 1}, 0},
           {"sub.s32", {0, 1}, bits(-1)},
           {"sub.s64", {0, 1}, bits(int64_t{-1})},
           {"mul.lo.s32", {0x10001, 0x10001}, 0x20001},
           {"mul.lo.s16", {0xFFFF, 0xFFFF}, 1},
           {"mul.lo.s64", {uint64_t{1} << 32, uint64_t{1} << 32}, 0},
           {"mul.wide.s32", {bits(-2), 3}, bits(int64_t{-6})},
           {"mul.wide.u32", {bits(-2), 2}, 0x1FFFFFFFC},
           {"mul.wide.u16", {0xFFFF, 0xFFFF}, 0xFFFE0001},
           {"mul.hi.u32", {bits(-1), bits(-1)}, 0xFFFFFFFE},
           {"mad.lo.s32", {bits(-2), 3, 1}, bits(-5)},
           {"mad.lo.s64", {3, 5, ~uint64_t{0}}, 14},
           {"mad.lo.s16", {3, 5, 0xFFFF}, 14},
           {"div.s32", {bits(-7), 2}, bits(-3)},
           {"div.s32", {bits(kLeast), bits(-1)}, bits(kLeast)},
           {"div.u32", {bits(-7), 2}, 0x7FFFFFFC},
           {"div.s64", {bits(int64_t{-7}), 2}, bits(int64_t{-3})},
           {"div.u64", {~uint64_t{0}, 2}, ~uint64_t{0} >> 1},
           {"rem.s64", {bits(int64_t{-7}), 2}, bits(int64_t{-1})},
           {"rem.u32", {7, 4}, 3},
           {"min.s32", {bits(-1), 1}, bits(-1)},
           {"min.u32", {bits(-1), 1}, 1},
           {"max.s32", {bits(-1), 1}, 1},
           {"max.u64", {~uint64_t{0}, 1}, ~uint64_t{0}},
           {"neg.s32", {bits(kLeast)}, bits(kLeast)},
           {"neg.s64", {1}, ~uint64_t{0}},
       })
    expect_result(c);
}

TEST(PtxBits, AreCountedMovedAndPermuted) {
  for (const Case& c : std::vector<Case>{
           {"popc.b32", {0xF0F0}, 8},
           {"clz.b32", {0}, 32},
           {"clz.b64", {1}, 63},
           {"brev.b32", {1}, 0x80000000},
           {"brev.b32", {0x12345678}, 0x1E6A2C48},
           {"bfind.u32", {0x80}, 7},
           {"bfind.shiftamt.u32", {0x80}, 24},
           {"bfind.shiftamt.u32", {0}, 0xFFFFFFFF},
           {"bfe.u32", {0xABCD, 4, 8}, 0xBC},
           {"bfe.u32", {0xABCD, 32, 8}, 0},
           {"bfe.u32", {bits(-1), 4, 0}, 0},
           {"bfe.u32", {bits(-1), 4, 200}, 0x0FFFFFFF},
           {"bfi.b32", {0xFF, 0, 4, 4}, 0xF0},
           {"bfi.b32", {0, bits(-1), 28, 8}, 0x0FFFFFFF},
           {"bfi.b32", {1, 7, 40, 8}, 7},
           {"prmt.b32", {0x33221100, 0x77665544, 0x7531}, 0x77553311},
           {"prmt.b32", {0x00008000, 0, 0x9999}, 0xFFFFFFFF},
           {"shl.b32", {1, 31}, 0x80000000},
           {"shl.b32", {1, 32}, 0},
           {"shl.b64", {1, 64}, 0},
           {"shr.u32", {0x80000000, 31}, 1},
           {"shr.u32", {0x80000000, 32}, 0},
           {"shr.s32", {0x80000000, 40}, 0xFFFFFFFF},
           {"shr.s64", {uint64_t{1} << 63, 63}, ~uint64_t{0}},
           {"shr.u64", {uint64_t{1} << 63, 100}, 0},
           {"shf.l.wrap.b32", {0x80000001, 0x7, 1}, 0xF},
           {"shf.l.wrap.b32", {0x80000001, 0x7, 33}, 0xF},
           {"and.b16", {0xFF0F, 0x0FFF}, 0x0F0F},
           {"or.b64", {1, uint64_t{1} << 63}, (uint64_t{1} << 63) + 1},
           {"xor.b32", {0xFF, 0x0F}, 0xF0},
           {"not.b16", {0x00FF}, 0xFF00},
           {"not.b64", {0}, ~uint64_t{0}},
           {"not.pred", {1}, 0},
           {"and.pred", {1, 0}, 0},
           {"or.pred", {1, 0}, 1},
       })
    expect_result(c);
}

TEST(PtxComparisons, OfNanAreFalseUnlessTheyAreUnordered) {
  for (const Case& c : std::vector<Case>{
           {"setp.lt.s32", {bits(-1), 0}, 1},
           {"setp.lt.u32", {bits(-1), 0}, 0},
           {"setp.ge.s64", {bits(int64_t{-1}), 0}, 0},
           {"setp.gt.u16", {0xFFFF, 1}, 1},
           {"setp.eq.b64", {5, 5}, 1},
           {"setp.eq.f32", {bits(0.0f), bits(-0.0f)}, 1},
           {"setp.eq.f32", {bits(kNan), bits(kNan)}, 0},
           {"setp.ne.f32", {bits(kNan), bits(1.0f)}, 0},
           {"setp.neu.f32", {bits(kNan), bits(1.0f)}, 1},
           {"setp.lt.f32", {bits(kNan), bits(1.0f)}, 0},
           {"setp.le.f32", {bits(1.0f), bits(1.0f)}, 1},
           {"setp.leu.f32", {bits(kNan), bits(1.0f)}, 1},
           {"setp.leu.f32", {bits(2.0f), bits(1.0f)}, 0},
           {"setp.ltu.f64", {bits(1.0), bits(std::nan(""))}, 1},
           {"setp.nan.f32", {bits(kNan), bits(1.0f)}, 1},
           {"setp.nan.f32", {bits(kInf), bits(1.0f)}, 0},
           {"selp.f32", {bits(1.0f), bits(2.0f), 1}, bits(1.0f)},
           {"selp.b64", {1, 2, 0}, 2},
       })
    expect_result(c);
}

TEST(PtxFloats, RoundToEvenAndKeepSubnormals) {
  const float least = std::numeric_limits<float>::denorm_min();
  for (const Case& c : std::vector<Case>{
           {"add.f32", {bits(16777216.0f), bits(1.0f)}, bits(16777216.0f)},
           {"add.f32", {bits(16777216.0f), bits(3.0f)}, bits(16777220.0f)},
           {"add.f32", {bits(least), bits(least)}, bits(2 * least)},
           {"sub.f32", {bits(1.0f), bits(1.0f)}, bits(0.0f)},
           {"mul.f32", {bits(0x1p-140f), bits(0.5f)}, bits(0x1p-141f)},
           {"mul.f32", {bits(3e38f), bits(2.0f)}, bits(kInf)},
           {"fma.rn.f32", {bits(1 + 0x1p-23f), bits(1 - 0x1p-23f), bits(-1.0f)}, bits(-0x1p-46f)},
           {"fma.rn.f64", {bits(3.0), bits(5.0), bits(1.0)}, bits(16.0)},
           {"div.rn.f32", {bits(1.0f), bits(3.0f)}, bits(1.0f / 3.0f)},
           {"div.rn.f32", {bits(1.0f), bits(0.0f)}, bits(kInf)},
           {"rcp.rn.f32", {bits(-0.0f)}, bits(-kInf)},
           {"sqrt.rn.f32", {bits(2.0f)}, bits(std::sqrt(2.0f))},
           {"neg.f32", {bits(0.0f)}, bits(-0.0f)},
           {"abs.f32", {bits(-kInf)}, bits(kInf)},
           {"max.f32", {bits(kNan), bits(-1.0f)}, bits(-1.0f)},
           {"max.f32", {bits(-0.0f), bits(0.0f)}, bits(0.0f)},
           {"max.f32", {bits(kNan), bits(kNan)}, 0x7FFFFFFF},
           {"min.f32", {bits(0.0f), bits(-0.0f)}, bits(-0.0f)},
           {"min.f32", {bits(1.0f), bits(kNan)}, bits(1.0f)},
           {"ex2.approx.ftz.f32", {bits(0.0f)}, bits(1.0f)},
           {"ex2.approx.ftz.f32", {bits(least)}, bits(1.0f)},
           {"ex2.approx.ftz.f32", {bits(-kInf)}, bits(0.0f)},
           {"ex2.approx.ftz.f32", {bits(-127.0f)}, bits(0.0f)},  // a subnormal result
           {"ex2.approx.ftz.f32", {bits(kInf)}, bits(kInf)},
           {"rcp.approx.ftz.f64", {bits(4.0)}, bits(0.25)},
           {"rcp.approx.ftz.f64", {bits(0.0)}, bits(HUGE_VAL)},
       })
    expect_result(c);
}

TEST(PtxConversions, SaturateAndRoundToEven) {
  for (const Case& c : std::vector<Case>{
           {"cvt.s64.s32", {bits(-1)}, ~uint64_t{0}},
           {"cvt.u64.u32", {bits(-1)}, 0xFFFFFFFF},
           {"cvt.u32.u16", {0xFFFF}, 0xFFFF},
           {"cvt.s32.s16", {0x8000}, 0xFFFF8000},
           {"cvt.s32.s8", {0x80}, 0xFFFFFF80},
           {"cvt.u16.u64", {0x12345}, 0x2345},
           {"cvt.rzi.u32.f32", {bits(-1.0f)}, 0},
           {"cvt.rzi.u32.f32", {bits(1e20f)}, 0xFFFFFFFF},
           {"cvt.rzi.u32.f32", {bits(2.9f)}, 2},
           {"cvt.rzi.u32.f32", {bits(kNan)}, 0},
           {"cvt.rzi.s32.f32", {bits(-1e20f)}, bits(kLeast)},
           {"cvt.rni.s32.f64", {bits(2.5)}, 2},
           {"cvt.rni.s32.f64", {bits(-3.5)}, bits(-4)},
           {"cvt.rn.f32.u32", {0x1000001}, bits(16777216.0f)},
           {"cvt.rn.f32.s32", {bits(-1)}, bits(-1.0f)},
           {"cvt.rn.f32.s64", {uint64_t{1} << 40}, bits(0x1p40f)},
           {"cvt.rn.f64.s32", {bits(-3)}, bits(-3.0)},
           {"cvt.f64.f32", {bits(0.5f)}, bits(0.5)},
           {"cvt.rn.f32.f64", {bits(1 + 0x1p-24)}, bits(1.0f)},
           {"cvt.rn.bf16x2.f32", {bits(1.0f), bits(-2.0f)}, 0x3F80C000},  // the first operand is the upper half
           {"cvt.rn.bf16x2.f32", {bits(1 + 0x1p-8f), bits(kNan)}, 0x3F807FFF},
           {"cvt.rn.bf16x2.f32", {bits(1 + 0x3p-8f), bits(3.4e38f)}, 0x3F827F80},
           {"cvt.rn.f16x2.f32", {bits(1.0f), bits(-2.0f)}, 0x3C00C000},
           {"cvt.rn.f16x2.f32", {bits(65520.0f), bits(kNan)}, 0x7C007FFF},
           {"cvt.rn.f16x2.f32", {bits(0x1p-24f), bits(0x1p-25f)}, 0x00010000},
       })
    expect_result(c);
}

TEST(PtxApproximations, ErrInBothDirectionsWithinTheirBound) {
  bool above = false, below = false;
  std::vector<float> x(32), y(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = -0.37f * static_cast<float>(i + 1);
  PtxKernel{
      .body =
          "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd0, %rd0, %rd2;\nadd.s64 %rd1, %rd1, %rd2;\n"
          "ld.global.f32 %f0, [%rd0];\nex2.approx.ftz.f32 %f1, %f0;\nst.global.f32 [%rd1], %f1;"}
      .run(x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = y[i] / std::exp2(static_cast<double>(x[i])) - 1;
    EXPECT_LE(std::abs(error), 0x1p-22);
    above |= error > 0x1p-23, below |= error < -0x1p-23;
  }
  EXPECT_TRUE(above && below);
}

TEST(PtxExtendedPrecision, CarriesThroughSumsDifferencesAndProducts) {
  std::vector<uint32_t> in{0xFFFFFFFF, 0xFFFFFFFF, 1, 0}, out(8);
  PtxKernel{.threads = 1,
            .body =
                "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd0];\n"
                "add.cc.u32 %r4, %r0, %r2;\naddc.cc.u32 %r5, %r1, %r3;\naddc.u32 %r6, %r3, %r3;\n"
                "sub.cc.u32 %r7, %r3, %r2;\nsubc.u32 %r8, %r3, %r3;\n"
                "mad.lo.cc.u32 %r9, %r0, %r1, %r0;\nmadc.hi.u32 %r10, %r0, %r1, %r3;\n"
                "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};\nst.global.v2.u32 [%rd1+16], {%r8, %r9};\n"
                "st.global.u32 [%rd1+24], %r10;"}
      .run(in, out);
  // (2^64 - 1) + 1; 0 - 1; (2^32 - 1)^2 + 2^32 - 1 = (2^32 - 1) 2^32
  EXPECT_EQ(out, (std::vector<uint32_t>{0, 0, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0}));
}

}  // namespace
}  // namespace weft::emulation::ptx
