// launch/start/session.h: ends all processes of a session.
#pragma once

#include <sys/types.h>

namespace weft {

// With SIGKILL, on this host. mpirun puts each rank into a process group of its own, but leaves it in its session.
void kill_session(pid_t leader);

}  // namespace weft
