// tests/emulation/include/nvtx3/nvToolsExt.h: NVTX's ranges, as far as the CUDA backend uses them: runtime/ranges.cpp
// writes them to the file that WEFT_EMULATED_NVTX names.
#pragma once

extern "C" {
int nvtxRangePushA(const char* name);  // the depth before, from 0; negative: an error
int nvtxRangePop();
}
