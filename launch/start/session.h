// launch/start/session.h: kills all processes of a session.
#pragma once

#include <sys/types.h>

namespace weft {

// Sends SIGKILL on this host. mpirun puts each rank into a separate process group, but all ranks into its session.
void kill_session(pid_t leader);

}  // namespace weft
