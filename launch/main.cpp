// launch/main.cpp: finds the command, starts MPI if it needs it, and turns whatever goes wrong into one message and an
// exit status.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "launch/commands.h"
#include "launch/mpi_environment.h"
#include "launch/report.h"
#include "launch/threads.h"
#include "parallel/mpi_session.h"
#include "tensor/context.h"
#include "tensor/error.h"
#include "trainer/version.h"

namespace {

using namespace weft;

bool is_any_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}

bool asks_for_help(const std::vector<std::string>& args) {
  return std::any_of(args.begin(), args.end(), [](const std::string& a) { return is_any_of(a, {"--help", "-h"}); });
}

int run(const std::vector<std::string>& args, std::unique_ptr<MpiSession>& mpi, std::unique_ptr<Communicator>& world) {
  if (args.empty() || is_any_of(args[0], {"help", "--help", "-h"})) {
    fmt::print("{}", program_help());
    return 0;
  }
  if (args[0] == "--version") {
    fmt::print("weft {}\n", kVersion);
    return 0;
  }
  const Command& command = find_command(args[0]);
  require_cpu_features();
  CommandContext context{{args.begin() + 1, args.end()}};
  if (command.needs_mpi && !asks_for_help(context.args)) {
    prepare_mpi_environment();
    mpi = std::make_unique<MpiSession>();
    world = mpi->world();
    context.world = world.get();
  }
  set_num_threads(threads_for_this_rank(world.get()));
  return command.run(context);
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<MpiSession> mpi;
  std::unique_ptr<Communicator> world;
  try {
    const int status = run({argv + 1, argv + argc}, mpi, world);
    if (std::fflush(stdout) != 0) fail(ErrorKind::io, "standard output cannot be written: disk full or closed");
    return status;
  } catch (const std::exception& e) {
    const int status = report_failure(e, world.get());
    if (world && world->size() > 1) mpi->abort(status);  // or the other ranks would wait for this one for ever
    return status;
  }
}
