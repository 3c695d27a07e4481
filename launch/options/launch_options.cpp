// launch/options/launch_options.cpp: splits arguments into the launcher's options, a command and the command's options.
#include "launch/options/launch_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "launch/options/options.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr char kUsage[] =
    R"(launch [-n N] [--hosts a:4,b:4] [--restarts K] COMMAND [options of COMMAND]

Starts the ranks of train, translate, score, evaluate or bench with Open MPI's mpirun, or with srun inside a
Slurm allocation. After Ctrl-C or SIGTERM, a training run finishes its step, saves and stops. A second signal, at
least two seconds later, stops the run immediately. The command exits with the exit status of the ranks.

  weft launch -n 4 train --config my.cfg --parallel.tp=2          4 ranks on this machine
  weft launch --hosts a:4,b:4 train --config my.cfg               8 ranks on two hosts, reached by ssh
  weft launch -n 4 --restarts 20 train --config my.cfg            restarts up to 20 times after failures
  weft launch -n 2 translate --checkpoint run < in.en > out.de    translates on 2 ranks
  weft launch -n 4 --dry-run train --config my.cfg                prints the command line of mpirun

See docs/hardware/cluster.md for settings of Open MPI, restarts and lost hosts.)";

void describe_options(Options& options, LaunchOptions& o) {
  options.add("ranks", o.ranks, "number of ranks, also -n N; default: all slots of --hosts or of Slurm's allocation");
  options.add("hosts", o.hosts, "hosts and their maximum ranks, for example a:4,b:4; default: this machine");
  options.add("restarts", o.restarts, "maximum number of times that train restarts after ranks or hosts fail");
  options.add("mpirun", o.mpirun, "path of mpirun; default: srun in a Slurm job, else mpirun next to weft or on PATH");
  options.add("dry-run", o.dry_run, "print the command line that would start the ranks, then exit");
}

// Accepts -n N and -nN, like mpirun and srun.
std::string with_long_name(const std::string& word) {
  if (word == "-n") return "--ranks";
  return word.starts_with("-n") ? "--ranks=" + word.substr(word[2] == '=' ? 3 : 2) : word;
}

void check(const LaunchOptions& o) {
  if (o.command.empty()) fail(ErrorKind::usage, "COMMAND is missing; usage: weft launch -n N train ...");
  if (o.ranks < 0) fail(ErrorKind::usage, fmt::format("--ranks must be at least 1, but is {}", o.ranks));
  if (o.restarts < 0) fail(ErrorKind::usage, fmt::format("--restarts must be at least 0, but is {}", o.restarts));
  if (o.restarts > 0 && o.command != "train")
    fail(ErrorKind::usage, fmt::format("--restarts applies only to train, because {} cannot resume", o.command));
}

}  // namespace

bool parse_launch_options(const std::vector<std::string>& args, LaunchOptions& o) {
  Options options(kUsage);
  describe_options(options, o);
  std::vector<std::string> own(args.size());
  std::transform(args.begin(), args.end(), own.begin(), with_long_name);
  const size_t num_own = options.num_before_positional(own);
  const auto command = args.begin() + static_cast<std::ptrdiff_t>(num_own);
  own.resize(num_own);
  if (!options.parse(own)) return false;
  if (options.given("ranks") && o.ranks == 0) fail(ErrorKind::usage, "--ranks must be at least 1, but is 0");
  if (command != args.end()) {
    o.command = *command;
    o.args.assign(command + 1, args.end());
  }
  check(o);
  return true;
}

}  // namespace weft
