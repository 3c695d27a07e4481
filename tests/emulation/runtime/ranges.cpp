// tests/emulation/runtime/ranges.cpp: writes NVTX ranges as lines "depth name" to the file in
// WEFT_EMULATED_NVTX.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

namespace {

thread_local int depth = 0;

std::FILE* open_file() {
  const char* const name = std::getenv("WEFT_EMULATED_NVTX");
  return name == nullptr ? nullptr : std::fopen(name, "a");
}

}  // namespace

int nvtxRangePushA(const char* name) {
  static std::FILE* const file = open_file();
  if (file != nullptr) {
    std::fprintf(file, "%d %s\n", depth, name);
    std::fflush(file);
  }
  return depth++;
}

int nvtxRangePop() { return depth > 0 ? --depth : -1; }
