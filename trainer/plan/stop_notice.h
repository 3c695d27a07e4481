// trainer/plan/stop_notice.h: a line of the plan for ranks that would not have the time to save after a signal.
#pragma once

#include <string>

namespace weft {

// Set for the ranks that `weft launch` starts: after a signal it waits for their save.
inline constexpr char kLaunchVariable[] = "WEFT_LAUNCH";

// Empty, unless a bare mpirun of Open MPI started several ranks and would kill them soon after Ctrl-C. Reads the
// variables of mpirun and of `weft launch`.
std::string stop_notice();

}  // namespace weft
