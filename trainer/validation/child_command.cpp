// trainer/validation/child_command.cpp: runs the command in a shell that ends it together with this process.
#include "trainer/validation/child_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int kNice = 10;
constexpr int kReapTries = 100;  // tries after SIGKILL, 1 ms apart
constexpr size_t kTail = 4096;   // bytes kept of the end of an output
constexpr size_t kPart = 1 << 16;
constexpr int kLastReads = 16;  // reads after the command's end, for what is still in the pipe

// Standard input is a pipe from this process. When the pipe closes, `cat` ends and the shell kills the process group.
constexpr char kWatchedCommand[] =
    "exec 3<&0 </dev/null; { cat <&3 >/dev/null; kill -KILL 0; } 2>/dev/null & exec 3<&-; /bin/sh -c \"$1\"; exit $?";

[[noreturn]] void fail_to_start(int error) {
  fail(ErrorKind::io, fmt::format("the command cannot be started: {}", std::strerror(error)));
}

bool belongs_to_mpi(std::string_view variable) {
  for (const char* prefix : {"OMPI_", "PMIX_", "PMI_", "PRTE_", "SLURM_STEP_"})
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

struct Pipe {
  FileDescriptor read_end, write_end;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail_to_start(errno);
    read_end = FileDescriptor(ends[0]), write_end = FileDescriptor(ends[1]);
  }
};

class SpawnSettings {
 public:
  SpawnSettings(const FileDescriptor& input, const FileDescriptor& output, const FileDescriptor& error) {
    posix_spawn_file_actions_init(&actions_);
    for (const auto& [from, to] : {std::pair{&input, STDIN_FILENO}, {&output, STDOUT_FILENO}, {&error, STDERR_FILENO}})
      posix_spawn_file_actions_adddup2(&actions_, from->get(), to);
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

ssize_t ChildCommand::Stream::read() {
  char part[kPart];
  const ssize_t got = ::read(end.get(), part, sizeof part);
  if (got > 0) tail.append(part, static_cast<size_t>(got));
  if (tail.size() > kTail) tail.erase(0, tail.size() - kTail);
  return got;
}

// Reads what the command prints until it has ended or `stop` closes, so that neither a disk nor memory can fill.
void ChildCommand::read_until(const FileDescriptor& stop) {
  Stream* const streams[] = {&output_, &error_};
  pollfd ends[] = {{output_.end.get(), POLLIN, 0}, {error_.end.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}};
  while ((ends[0].fd >= 0 || ends[1].fd >= 0) && ends[2].revents == 0) {
    if (::poll(ends, std::size(ends), -1) < 0) continue;  // a signal
    for (size_t i = 0; i < std::size(streams); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      const ssize_t got = streams[i]->read();
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) ends[i].fd = -1;  // poll() ignores it
    }
    usleep(1000);  // a command that prints without end must not take a core from training
  }
  for (Stream* stream : streams)
    for (int i = 0; i < kLastReads && stream->read() > 0; ++i) continue;
}

ChildCommand::ChildCommand(const std::string& command, const Environment& added) {
  Pipe input, output, error, stop;
  for (const Pipe* pipe : {&output, &error}) fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK);
  const SpawnSettings settings(input.read_end, output.write_end, error.write_end);
  alive_ = std::move(input.write_end), stop_ = std::move(stop.write_end);
  output_.end = std::move(output.read_end), error_.end = std::move(error.read_end);
  try {
    reader_ = std::jthread([this, end = std::move(stop.read_end)] { read_until(end); });
  } catch (const std::system_error& e) {
    fail_to_start(e.code().value());
  }
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
  stop_.reset();
  reader_.join();
}

}  // namespace weft
