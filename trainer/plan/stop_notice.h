// trainer/plan/stop_notice.h: warns in the plan if ranks would have no time to save after a signal.
#pragma once

#include <string>

namespace weft {

// `weft launch` sets this variable for its ranks. After a signal, `weft launch` waits until the ranks have saved.
inline constexpr char kLaunchVariable[] = "WEFT_LAUNCH";

// Returns a warning if Open MPI's mpirun, used without `weft launch`, started several ranks and would kill them soon
// after Ctrl-C, otherwise "". Reads environment variables.
std::string stop_notice();

}  // namespace weft
