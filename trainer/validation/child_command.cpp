// trainer/validation/child_command.cpp: runs the command in a shell that ends it together with this process.
#include "trainer/validation/child_command.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int kNice = 10;
constexpr int kReapTries = 100;  // tries after SIGKILL, 1 ms apart

// Standard input is a pipe from this process. When the pipe closes, `cat` ends and the shell kills the process group.
constexpr char kWatchedCommand[] =
    "exec 3<&0 </dev/null; { cat <&3 >/dev/null; kill -KILL 0; } 2>/dev/null & exec 3<&-; /bin/sh -c \"$1\"; exit $?";

[[noreturn]] void fail_to_start(int error) {
  fail(ErrorKind::io, fmt::format("the command cannot be started: {}", std::strerror(error)));
}

bool belongs_to_mpi(std::string_view variable) {
  for (const char* prefix : {"OMPI_", "PMIX_", "PMI_", "PRTE_"})
    if (variable.starts_with(prefix)) return true;
  return false;
}

std::vector<std::string> environment_with(const ChildCommand::Environment& added) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!belongs_to_mpi(*variable)) all.emplace_back(*variable);
  for (const auto& [name, value] : added) {
    std::erase_if(all, [&](const std::string& known) { return known.starts_with(name + "="); });
    all.push_back(name + "=" + value);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

class SpawnSettings {
 public:
  SpawnSettings(int input, const std::string& output, const std::string& error) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output.c_str(), kFlags, 0666);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, error.c_str(), kFlags, 0666);
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);  // closes MPI's sockets
#endif
#endif
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none, all;
    sigemptyset(&none), sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// This rank may be bound to a few cores (parallel/placement/), but the command may use all cores of the job.
void free_from_cores(pid_t process) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(process, sizeof all, &all);  // the kernel removes cores of other jobs
}

}  // namespace

ChildCommand::ChildCommand(const std::string& command, const Environment& added, const std::string& output,
                           const std::string& error) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail_to_start(errno);
  const FileDescriptor read_end(ends[0]);
  alive_ = FileDescriptor(ends[1]);
  const SpawnSettings settings(read_end.get(), output, error);
  std::vector<std::string> words{"sh", "-c", kWatchedCommand, "weft", command}, variables = environment_with(added);
  const int failure = posix_spawn(&process_, "/bin/sh", settings.actions(), settings.attributes(),
                                  pointers_to(words).data(), pointers_to(variables).data());
  if (failure != 0) {
    process_ = -1;
    fail_to_start(failure);
  }
  free_from_cores(process_);
  setpriority(PRIO_PGRP, static_cast<id_t>(process_), kNice);
}

std::optional<int> ChildCommand::poll() {
  if (process_ < 0) return std::nullopt;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  kill();
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

double ChildCommand::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

// Stops waiting after a while, because a process that hangs in the kernel must not block the run.
void ChildCommand::kill() {
  if (process_ < 0) return;
  ::kill(-process_, SIGKILL);
  for (int i = 0; i < kReapTries && waitpid(process_, nullptr, WNOHANG) == 0; ++i) usleep(1000);
  process_ = -1;
}

}  // namespace weft
