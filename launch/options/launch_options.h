// launch/options/launch_options.h: parses and checks the options of `weft launch`.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct LaunchOptions {
  int ranks = 0;                  // 0: not given
  std::string hosts;              // "a:4,b:4"; empty: this machine
  int restarts = 0;               // maximum number of restarts after failures
  std::string mpirun;             // empty: next to the program or on PATH; srun in a Slurm allocation
  bool dry_run = false;           // only print the command line
  std::string command;            // "train"
  std::vector<std::string> args;  // the command's arguments
};

bool parse_launch_options(const std::vector<std::string>& args, LaunchOptions& options);  // false: --help was printed

}  // namespace weft
