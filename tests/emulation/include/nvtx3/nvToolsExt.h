// tests/emulation/include/nvtx3/nvToolsExt.h: the NVTX ranges that the CUDA backend uses; runtime/ranges.cpp
// writes them to the file in WEFT_EMULATED_NVTX.
#pragma once

extern "C" {
int nvtxRangePushA(const char* name);  // returns the depth before the call, from 0; negative: an error
int nvtxRangePop();
}
