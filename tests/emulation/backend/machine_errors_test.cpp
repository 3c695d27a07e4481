// tests/emulation/backend/machine_errors_test.cpp: errors of the machine that users or administrators can mend.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "tensor/context.h"
#include "tests/support/errors.h"

namespace weft::testing {
namespace {

TEST(MachineErrors, AreUsageErrorsThatAdvise) {
  setenv("WEFT_CUDA_MODULE", WEFT_BINARY_DIR "/emulated/libweft_cuda.so", 1);
  for (const auto& [code, advice] : {std::pair{"802", "fabric manager"},
                                     {"803", "reload the NVIDIA driver"},
                                     {"46", "another process uses the GPU alone"},
                                     {"222", "a newer NVIDIA driver"},
                                     {"209", "this build has no code for the GPU"}}) {
    setenv("WEFT_EMULATION_ERROR", code, 1);
    expect_error([] { Context ctx(Device::cuda); }, ErrorKind::usage, {advice, "--device=cpu runs without a GPU"});
    unsetenv("WEFT_EMULATION_ERROR");
  }
  Context ctx(Device::cuda);
}

}  // namespace
}  // namespace weft::testing
