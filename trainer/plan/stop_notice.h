// trainer/plan/stop_notice.h: warns in the plan if ranks would not have the time to save after a signal.
#pragma once

#include <string>

namespace weft {

// Set for ranks started by `weft launch`, which waits for their save after a signal.
inline constexpr char kLaunchVariable[] = "WEFT_LAUNCH";

// Returns "" unless a bare mpirun of Open MPI started several ranks and would kill them soon after Ctrl-C. Reads the
// variables of mpirun and of `weft launch`.
std::string stop_notice();

}  // namespace weft
