// launch/start/host_probe.h: asks hosts whether they can run this program in the working folder.
#pragma once

#include <string>
#include <vector>

#include "launch/start/hosts.h"
#include "launch/start/supervisor.h"

namespace weft {

struct HostAnswer {
  bool reached = false;
  std::string problem;  // a line, for example of ssh or of the host's shell; empty: the host can run the program
};

struct ProgramToFind {
  std::string mpirun;  // the path of mpirun, which starts a process on each host
  std::string weft;    // the path that each host must have
  std::string build;   // the build that each host must have (launch/start/program_build.h)
};

// Asks all hosts in parallel. Asks a host again if mpirun failed within the time, because a busy host may fail once.
std::vector<HostAnswer> ask_hosts(Supervisor& supervisor, const ProgramToFind& program, const std::vector<Host>& hosts,
                                  double seconds);

// Throws an Error of kind usage that names the hosts which were reached, but cannot run the program.
void require_program_on_hosts(const std::vector<Host>& hosts, const std::vector<HostAnswer>& answers);

// Returns the hosts that were not reached or cannot run the program, with the problem: "b (ssh: ...), c (...)".
std::string describe_problems(const std::vector<Host>& hosts, const std::vector<HostAnswer>& answers);

}  // namespace weft
