// launch/start/supervisor.cpp: starts child processes, handles signals, and waits for the children.
#include "launch/start/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "data/atomic_file.h"
#include "data/temporary_folder.h"
#include "launch/start/output_relay.h"
#include "launch/start/session.h"
#include "tensor/clock.h"
#include "tensor/error.h"
#include "trainer/signals.h"

namespace weft {
namespace {

constexpr int kCannotExecute = 127;
constexpr double kForEver = 1e6, kRepeatSeconds = 1;
constexpr char kOutputFile[] = "/output";

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGCHLD}) sigaddset(&set, signal);
  if (!is_ignored(SIGHUP)) sigaddset(&set, SIGHUP);  // ignored under nohup
  return set;
}

struct ChildSettings {
  const OutputRelay* output = nullptr;  // null: the child has no input, and writes to a file in temporary_folder
  bool own_session = true;              // true: signals from a terminal do not reach the child
  int signal_when_alone = SIGUSR2;      // sent to the child if this process is killed
  std::string temporary_folder;         // empty: the same folder as in this process
};

// Runs in the child.
[[noreturn]] void execute(std::vector<char*>& argv, pid_t parent, const ChildSettings& settings) {
  if (settings.own_session) setsid();
  prctl(PR_SET_PDEATHSIG, settings.signal_when_alone);
  if (getppid() != parent) _exit(kCannotExecute);  // the parent has ended already
  if (settings.output != nullptr) {
    settings.output->become_output();
  } else {
    const std::string file = settings.temporary_folder + kOutputFile;
    const int input = open("/dev/null", O_RDONLY), output = open(file.c_str(), O_WRONLY | O_APPEND);
    if (input < 0 || output < 0) _exit(kCannotExecute);
    dup2(input, STDIN_FILENO);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(output, stream);
  }
  if (!settings.temporary_folder.empty()) setenv("TMPDIR", settings.temporary_folder.c_str(), /*overwrite=*/1);
  const sigset_t set = handled_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  execv(argv[0], argv.data());
  _exit(kCannotExecute);
}

pid_t start_process(const std::vector<std::string>& command, const ChildSettings& settings) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) fail(ErrorKind::io, fmt::format("{} cannot be started: {}", command[0], std::strerror(errno)));
  if (child == 0) execute(argv, parent, settings);
  return child;
}

bool has_ended(pid_t child, int& status) {
  int state = 0;
  if (waitpid(child, &state, WNOHANG) != child) return false;
  status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  return true;
}

// Helps the user if mpirun itself fails, for example because a host lacks ssh, since --quiet hides mpirun's own errors.
void explain_silence(const OutputRelay& output, const std::string& program, int status) {
  if (status == 0 || !output.was_silent()) return;
  std::fputs(fmt::format("weft launch: {} ended with status {} without any output: to see why, print the command line "
                         "with `weft launch --dry-run ...`, and run it without --quiet\n",
                         program, status)
                 .c_str(),
             stderr);
}

void pass_on(int signal, pid_t child) {  // 0: none
  if (signal == SIGKILL) {
    kill_session(child);
  } else if (signal != 0) {
    kill(child, signal);
  }
}

}  // namespace

Supervisor::Supervisor(StopRelay relay) : relay_(relay) {
  std::signal(SIGCHLD, SIG_DFL);  // if it were ignored, the child's status would be lost
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the output may have exited
  const sigset_t set = handled_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

Supervisor::~Supervisor() {
  std::signal(SIGPIPE, SIG_DFL);
  const sigset_t set = handled_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

int Supervisor::next_signal(double seconds, bool* from_terminal) {
  const sigset_t set = handled_signals();
  const timespec limit{.tv_sec = static_cast<time_t>(seconds),
                       .tv_nsec = static_cast<long>(1e9 * (seconds - std::floor(seconds)))};
  siginfo_t info{};
  const int signal = std::max(0, sigtimedwait(&set, &info, &limit));
  if (from_terminal != nullptr) *from_terminal = info.si_code == SI_KERNEL;
  return signal == SIGCHLD ? 0 : signal;
}

int Supervisor::run_training(const std::vector<std::string>& command, const std::function<bool()>& can_save,
                             RankWatch watch) {
  OutputRelay output({.when_alone = SIGUSR2});
  const pid_t child = start_process(command, {.output = &output});
  output.child_started(child);
  std::string lost;  // why mpirun was killed
  double last_look = monotonic_seconds();
  int status = 0;
  while (!has_ended(child, status)) {
    const int signal = next_signal(stopped() ? kRepeatSeconds : RankWatch::kPeriod);
    const double now = monotonic_seconds();
    if (signal != SIGUSR1 || can_save()) pass_on(signal != 0 ? relay_.relay(signal, now) : relay_.again(now), child);
    if (!lost.empty() || now - last_look < RankWatch::kPeriod) continue;
    last_look = now;
    lost = watch.look(count_own_program(child));
    if (!lost.empty()) pass_on(SIGKILL, child);
  }
  wait_for_rest(output);
  if (!lost.empty()) {
    std::fputs(fmt::format("weft launch: {}\n", lost).c_str(), stderr);
    return static_cast<int>(ErrorKind::peer);
  }
  if (!stopped()) explain_silence(output, command[0], status);
  return status;
}

int Supervisor::run_other(const std::vector<std::string>& command) {
  const bool at_terminal = isatty(STDIN_FILENO) != 0;
  OutputRelay output({.when_unread = SIGTERM});
  const pid_t child = start_process(command, {&output, /*own_session=*/!at_terminal, /*signal_when_alone=*/SIGTERM});
  output.child_started(child);
  int status = 0;
  bool stopped = false;
  while (!has_ended(child, status)) {
    bool from_terminal = false;
    const int signal = next_signal(kForEver, &from_terminal);
    stopped = stopped || signal != 0;
    if (signal != 0 && !(at_terminal && from_terminal)) kill(child, signal);
  }
  wait_for_rest(output);
  if (output.write_error() == EPIPE) return 128 + SIGPIPE;  // the same status as without a launcher
  if (output.write_error() != 0)
    fail(ErrorKind::io, fmt::format("standard output cannot be written: {}", std::strerror(output.write_error())));
  if (!stopped) explain_silence(output, command[0], status);
  return status;
}

// Waits until the relay has written all output, because its reader may be slow. A repeated signal ends the wait.
void Supervisor::wait_for_rest(OutputRelay& output) {
  output.child_ended();
  while (!output.has_ended()) {
    const int signal = next_signal(kForEver);
    if (signal != 0) relay_.relay(signal, monotonic_seconds());
    if (signal != 0 && relay_.impatient()) output.end();
  }
}

std::vector<Supervisor::Outcome> Supervisor::run_briefly(const std::vector<std::vector<std::string>>& commands,
                                                         double seconds) {
  const std::vector<TemporaryFolder> folders(commands.size());
  std::vector<Outcome> outcomes(commands.size());
  std::vector<pid_t> running;
  for (size_t i = 0; i < commands.size(); ++i) {
    write_file_atomically(folders[i].path() + kOutputFile, "");  // here, because a child may be killed at once
    running.push_back(start_process(commands[i], {.temporary_folder = folders[i].path()}));
  }
  const double end = monotonic_seconds() + seconds;
  for (size_t left = commands.size(); left > 0;) {
    for (size_t i = 0; i < running.size(); ++i)
      if (int status = 0; running[i] != 0 && has_ended(running[i], status))
        outcomes[i].status = status, running[i] = 0, --left;
    const double wait = end - monotonic_seconds();
    if (left == 0 || wait <= 0 || stopped()) break;
    if (const int signal = next_signal(wait); signal != 0) relay_.relay(signal, monotonic_seconds());
  }
  for (const pid_t late : running)
    if (late != 0) kill_session(late), waitpid(late, nullptr, 0);  // for example an ssh to a host that is off
  for (size_t i = 0; i < commands.size(); ++i) outcomes[i].output = read_file(folders[i].path() + kOutputFile);
  return outcomes;
}

void Supervisor::pause(double seconds) {
  const double end = monotonic_seconds() + seconds;
  for (double wait = seconds; wait > 0 && !stopped(); wait = end - monotonic_seconds())
    if (const int signal = next_signal(wait); signal != 0) relay_.relay(signal, monotonic_seconds());
}

}  // namespace weft
