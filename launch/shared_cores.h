// launch/shared_cores.h: keeps waiting threads from taking the cores that other programs need.
#pragma once

namespace weft {

// libgomp's threads wait at each barrier in a loop, by default of 300,000 rounds. On a busy machine, the thread that
// all wait for then gets no core, and a step takes tens of times as long. libgomp reads the limit GOMP_SPINCOUNT before
// main() starts, so this function sets it and starts the program again. It does nothing if the user has set
// GOMP_SPINCOUNT or OMP_WAIT_POLICY.
void limit_spinning(char** arguments);

}  // namespace weft
