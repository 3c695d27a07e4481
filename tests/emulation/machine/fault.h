// tests/emulation/machine/fault.h: says so when a segmentation fault is one of device memory, before the program ends
// by it.
#pragma once

namespace weft::emulation {

void explain_faults();

}  // namespace weft::emulation
