// launch/main.cpp: finds the command, joins other ranks, and turns errors into one message and an exit status.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "launch/commands.h"
#include "launch/mpi_environment.h"
#include "launch/options/help_format.h"
#include "launch/report.h"
#include "launch/shared_cores.h"
#include "launch/start/program_build.h"
#include "parallel/mpi/session.h"
#include "parallel/placement/cores.h"
#include "tensor/context.h"
#include "tensor/error.h"
#include "trainer/version.h"

namespace {

using namespace weft;

// Fails if several processes were started, because they would do the same work and write the same files.
void require_one_process(const Command& command) {
  const int size = launched_as().size;
  if (size == 1) return;
  fail(ErrorKind::usage, fmt::format("`weft {}` runs in one process, but {} started: run it without mpirun or srun",
                                     command.name, size == 0 ? "several may have been" : fmt::format("{} were", size)));
}

// Joins the launcher's ranks through MPI. Without a launcher, makes a communicator of one rank that does not use MPI.
void join_ranks(std::unique_ptr<MpiSession>& mpi, std::unique_ptr<Communicator>& world) {
  const LaunchedAs launched = launched_as();
  if (!launched.as_rank) {
    world = make_single_communicator();
    return;
  }
  require_pmix(launched);
  prepare_mpi_environment();
  mpi = std::make_unique<MpiSession>();
  require_all_ranks(launched, mpi->size());
  world = mpi->world();
  require_same_build(program_build(), *world);
}

// Opens /dev/null for closed standard streams, because otherwise our output would go into the next file that is opened.
void keep_closed_streams_closed() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) == -1) open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int run(const std::vector<std::string>& args, std::unique_ptr<MpiSession>& mpi, std::unique_ptr<Communicator>& world) {
  if (args.empty() || args[0] == "help" || args[0].starts_with("--help") || args[0] == "-h") {
    if (args.size() > 1 && args[0] == "help") {
      std::vector<std::string> asked(args.begin() + 1, args.end());
      asked.emplace_back("--help");
      return run(asked, mpi, world);
    }
    fmt::print("{}", program_help(asked_help(args).value_or(HelpFormat::text)));
    return 0;
  }
  if (args[0] == "--version") {
    fmt::print("weft {}\n{}{}\n", kVersion, kBuildLine, program_build());
    return 0;
  }
  auto [command, context] = find_command(args);
  require_cpu_features();
  const std::optional<HelpFormat> help = asked_help(context.args);
  if (help == HelpFormat::man) fmt::print("{}", manual_name(manual_page_of(command.name), command.summary));
  if (!help) {
    if (command.distributed) {
      join_ranks(mpi, world);
    } else {
      require_one_process(command);
    }
    context.world = world.get();
  }
  set_num_threads(num_threads_of({cores_of_this_thread()}, 0));  // place_ranks() replaces this number on ranks
  return command.run(context);
}

// Returns the argument that `path` begins with, as "--option" if it is the value of an option.
std::string argument_in(const std::vector<std::string>& args, const std::string& path) {
  for (size_t i = 1; i < args.size(); ++i) {
    const size_t equals = args[i].starts_with("--") ? args[i].find('=') : std::string::npos;
    const std::string value = equals == std::string::npos ? args[i] : args[i].substr(equals + 1);
    if (value.empty() || !path.starts_with(value)) continue;
    if (equals != std::string::npos) return args[i].substr(0, equals);
    if (args[i - 1].starts_with("--")) return args[i - 1];
  }
  return args.front();  // the command
}

int run_and_flush(const std::vector<std::string>& args, std::unique_ptr<MpiSession>& mpi,
                  std::unique_ptr<Communicator>& world) {
  int status = 0;
  try {
    status = run(args, mpi, world);
  } catch (const std::filesystem::filesystem_error& e) {
    if (e.code() != std::errc::filename_too_long) throw;
    fail(ErrorKind::usage, fmt::format("{}: the name is too long: {}", argument_in(args, e.path1().string()),
                                       printable(e.path1().string())));
  } catch (const std::system_error&) {  // thrown by fmt::print, without the name of the stream
    if (std::ferror(stdout) == 0) throw;
  }
  if (std::ferror(stdout) != 0 || std::fflush(stdout) != 0)
    fail(ErrorKind::io, "standard output is closed, or its disk is full");
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  limit_spinning(argv);
  std::signal(SIGXFSZ, SIG_IGN);  // so that exceeding `ulimit -f` is an error like a full disk
  keep_closed_streams_closed();
  std::unique_ptr<MpiSession> mpi;
  std::unique_ptr<Communicator> world;
  try {
    return run_and_flush({argv + 1, argv + argc}, mpi, world);
  } catch (const std::exception& e) {
    const int status = report_failure(e, world.get());
    if (world && world->size() > 1) mpi->abort(status);  // otherwise the other ranks would wait forever
    return status;
  }
}
