// tests/tensor/dispatch_test.cpp: dispatch selects the best kernels that the processor supports, and reports
// them.
//
// Only for builds with WEFT_MARCH=dispatch. The tests fallback_isas_* hide features from the loader by
// GLIBC_TUNABLES.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "tensor/context.h"
#include "tensor/cpu/gemm/gemm.h"

namespace weft::testing {
namespace {

bool is_hidden(std::string_view feature) {
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  return tunables != nullptr && std::string_view(tunables).find(feature) != std::string_view::npos;
}

std::string best(bool has_avx2, bool has_avx512) { return has_avx512 ? "AVX-512" : has_avx2 ? "AVX2" : "SSE4.2"; }

TEST(Dispatch, TakesTheBestKernelsOfThisProcessor) {
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const std::string chosen = best(has_avx2 && !is_hidden("-AVX2"), has_avx512 && !is_hidden("-AVX512F"));
  const std::string possible = best(has_avx2, has_avx512), text = cpu_description();
  const std::string remark = chosen == possible ? "" : " though it has " + possible;
  EXPECT_EQ(text.substr(text.rfind("kernels for")), "kernels for " + chosen + remark);
}

TEST(Dispatch, ProductsGoByBlocksOfRowsWhereOneDnnMayNotUseAvx512) {
  __builtin_cpu_init();
  const bool is_held_back = std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr;
  EXPECT_EQ(cpu::uses_gemm_blocks(), is_held_back || !__builtin_cpu_supports("avx512bw"));
}

}  // namespace
}  // namespace weft::testing
