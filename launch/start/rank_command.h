// launch/start/rank_command.h: makes the command line of mpirun or srun that starts ranks with Weft's settings.
#pragma once

#include <string>
#include <vector>

#include "launch/start/hosts.h"

namespace weft {

struct Launcher {
  bool slurm = false;
  std::string program;  // path of mpirun or srun
};

// Returns `wanted` if it is given, otherwise srun inside a Slurm allocation, otherwise mpirun next to `weft` or on
// PATH. If there is no mpirun, an Error of kind usage names the package to install.
Launcher find_launcher(const std::string& wanted, const std::string& weft);

struct RankCommand {
  int ranks = 0;                   // 0: the allocation's number of tasks; only with srun
  std::vector<Host> hosts;         // empty: this machine, or the allocation
  std::vector<std::string> words;  // command line of each rank
  bool in_this_folder = true;      // on all hosts; false: in /
};

// Both functions respect the environment variables of Open MPI (OMPI_MCA_...) and Slurm.
std::vector<std::string> mpirun_command(const std::string& mpirun, const RankCommand& ranks);
std::vector<std::string> srun_command(const std::string& srun, const RankCommand& ranks);

std::string shell_quoted(const std::vector<std::string>& words);  // returns one line for a shell

}  // namespace weft
