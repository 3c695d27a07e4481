// launch/start/supervisor.cpp: child processes and signals.
#include "launch/start/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int kCannotExecute = 127;
constexpr double kForEver = 1e6;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGCHLD}) sigaddset(&set, signal);
  if (!is_ignored(SIGHUP)) sigaddset(&set, SIGHUP);  // nohup
  return set;
}

enum class Streams { inherited, none };

// In the child; does not return.
[[noreturn]] void execute(std::vector<char*>& argv, pid_t parent, Streams streams) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGUSR2);
  if (getppid() != parent) _exit(kCannotExecute);  // it ended before
  if (streams == Streams::none)
    if (const int null = open("/dev/null", O_RDWR); null >= 0)
      for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  const sigset_t set = handled_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  execv(argv[0], argv.data());
  _exit(kCannotExecute);
}

pid_t start_process(const std::vector<std::string>& command, Streams streams) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) fail(ErrorKind::io, fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
  if (child == 0) execute(argv, parent, streams);
  return child;
}

bool has_ended(pid_t child, int& status) {
  int state = 0;
  if (waitpid(child, &state, WNOHANG) != child) return false;
  status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  return true;
}

}  // namespace

Supervisor::Supervisor() {
  std::signal(SIGCHLD, SIG_DFL);  // if it is ignored, no status is kept
  std::signal(SIGPIPE, SIG_IGN);  // nothing reads the screen any more
  const sigset_t set = handled_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

Supervisor::~Supervisor() {
  std::signal(SIGPIPE, SIG_DFL);
  const sigset_t set = handled_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

int Supervisor::next_signal(double seconds) {
  const sigset_t set = handled_signals();
  const timespec limit{.tv_sec = static_cast<time_t>(seconds),
                       .tv_nsec = static_cast<long>(1e9 * (seconds - std::floor(seconds)))};
  return std::max(0, sigtimedwait(&set, nullptr, &limit));
}

int Supervisor::run(const std::vector<std::string>& command) {
  const pid_t child = start_process(command, Streams::inherited);
  for (int status = 0;;) {
    if (has_ended(child, status)) return status;
    const int signal = next_signal(kForEver);
    if (signal == 0 || signal == SIGCHLD) continue;
    if (const int passed_on = relay_.relay(signal, seconds_now()); passed_on != 0) kill(child, passed_on);
  }
}

std::vector<bool> Supervisor::succeed(const std::vector<std::vector<std::string>>& commands, double seconds) {
  std::vector<pid_t> running;
  for (const auto& command : commands) running.push_back(start_process(command, Streams::none));
  std::vector<bool> succeeded(commands.size(), false);
  const double end = seconds_now() + seconds;
  for (size_t left = commands.size(); left > 0;) {
    for (size_t i = 0; i < running.size(); ++i)
      if (int status = 0; running[i] != 0 && has_ended(running[i], status))
        succeeded[i] = status == 0, running[i] = 0, --left;
    const double wait = end - seconds_now();
    if (left == 0 || wait <= 0 || stopped()) break;
    if (const int signal = next_signal(wait); signal != 0 && signal != SIGCHLD) relay_.relay(signal, seconds_now());
  }
  for (const pid_t late : running)
    if (late != 0) kill(late, SIGKILL), waitpid(late, nullptr, 0);
  return succeeded;
}

void Supervisor::pause(double seconds) {
  const double end = seconds_now() + seconds;
  for (double wait = seconds; wait > 0 && !stopped(); wait = end - seconds_now())
    if (const int signal = next_signal(wait); signal != 0 && signal != SIGCHLD) relay_.relay(signal, seconds_now());
}

}  // namespace weft
