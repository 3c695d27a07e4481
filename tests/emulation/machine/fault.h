// tests/emulation/machine/fault.h: reports segmentation faults in device memory before the program dies.
#pragma once

namespace weft::emulation {

void explain_faults();

}  // namespace weft::emulation
