// launch/start/output_relay.cpp: makes the pipes, starts the relay process, and runs its loop.
#include "launch/start/output_relay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "tensor/error.h"

namespace weft {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kRequestPeriod{1};
constexpr int kSilent = 255;  // status of the relay if the child wrote nothing; not an errno

struct Pipe {
  FileDescriptor read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::io, fmt::format("a pipe cannot be made: {}", std::strerror(errno)));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// Returns 0, or the errno of a write that failed, for example because the reader has exited or the disk is full.
int write_if_possible(int to, const char* bytes, ssize_t count) {
  while (count > 0) {
    const ssize_t written = write(to, bytes, static_cast<size_t>(count));
    if (written >= 0) {
      bytes += written, count -= written;
    } else if (errno == EAGAIN) {  // another program made the stream non-blocking
      pollfd room{.fd = to, .events = POLLOUT, .revents = 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

class Copier {  // runs in the relay's process
 public:
  Copier(OutputRelay::Requests requests, const Pipe& output, const Pipe& error, const Pipe& control)
      : requests_(requests),
        sources_{{{output.read.get(), POLLIN, 0}, {error.read.get(), POLLIN, 0}, {control.read.get(), POLLIN, 0}}} {}

  int run() {  // runs until both streams end; returns an errno, 0 or kSilent
    while (sources_[kOutput].fd >= 0 || sources_[kError].fd >= 0) {
      const int ready = poll(sources_.data(), sources_.size(), milliseconds_to_wait());
      if (ready == 0 && child_has_ended_) break;  // a process left behind by the child may keep the streams open
      if (ready > 0) take();
      if (alone_) repeat_request();
    }
    return silent_ ? kSilent : write_error_;
  }

 private:
  enum Source { kOutput, kError, kControl };

  int milliseconds_to_wait() const {
    if (child_has_ended_) return 0;
    return alone_ ? static_cast<int>(std::chrono::milliseconds(kRequestPeriod).count()) : -1;
  }

  void take() {
    if (sources_[kOutput].revents != 0) note_write_error(copy(kOutput, STDOUT_FILENO));
    if (sources_[kError].revents != 0) copy(kError, STDERR_FILENO);
    if (sources_[kControl].revents != 0) listen();
  }

  int copy(Source from, int to) {
    const ssize_t count = read(sources_[from].fd, bytes_.data(), bytes_.size());
    silent_ = silent_ && count <= 0;
    if (count > 0) return write_if_possible(to, bytes_.data(), count);
    sources_[from].fd = -1;  // the stream has ended
    return 0;
  }

  void note_write_error(int error) {
    if (error == 0 || write_error_ != 0) return;
    write_error_ = error;
    send(requests_.when_unread);
  }

  // The launcher sends the child's process id, and 0 after the child's end. If no 0 arrives, the launcher was killed.
  void listen() {
    pid_t child = 0;
    if (read(sources_[kControl].fd, &child, sizeof child) != sizeof child) {
      sources_[kControl].fd = -1;
      alone_ = true;
    } else if (child != 0) {
      child_ = child;
      if (write_error_ != 0) send(requests_.when_unread);  // the write failed before this message arrived
    } else {
      child_has_ended_ = true;
    }
  }

  void repeat_request() {
    if (SteadyClock::now() < next_request_) return;
    next_request_ = SteadyClock::now() + kRequestPeriod;
    if (child_ != 0 && kill(child_, 0) != 0) child_has_ended_ = true;
    send(requests_.when_alone);
  }

  void send(int signal) const {
    if (signal != 0 && child_ != 0 && !child_has_ended_) kill(child_, signal);
  }

  OutputRelay::Requests requests_;
  std::array<pollfd, 3> sources_;
  std::array<char, 1 << 16> bytes_{};
  pid_t child_ = 0;
  bool child_has_ended_ = false, alone_ = false, silent_ = true;
  SteadyClock::time_point next_request_{};
  int write_error_ = 0;
};

}  // namespace

OutputRelay::OutputRelay(Requests requests) {
  Pipe output = make_pipe(), error = make_pipe(), control = make_pipe();
  process_ = fork();
  if (process_ < 0) fail(ErrorKind::io, fmt::format("a process cannot be started: {}", std::strerror(errno)));
  if (process_ == 0) {
    setsid();
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    for (Pipe* pipe : {&output, &error, &control}) pipe->write.reset();  // otherwise the streams would never end
    _exit(Copier(requests, output, error, control).run());
  }
  output_ = std::move(output.write), error_ = std::move(error.write), control_ = std::move(control.write);
}

OutputRelay::~OutputRelay() {
  for (FileDescriptor* pipe : {&output_, &error_, &control_}) pipe->reset();
  if (process_ != 0) waitpid(process_, nullptr, 0);
}

void OutputRelay::become_output() const {
  dup2(output_.get(), STDOUT_FILENO);
  dup2(error_.get(), STDERR_FILENO);
}

void OutputRelay::child_started(pid_t child) {
  output_.reset();
  error_.reset();
  [[maybe_unused]] const ssize_t written =
      write(control_.get(), &child, sizeof child);  // fails if the relay was killed
}

void OutputRelay::child_ended() {
  constexpr pid_t kNone = 0;
  [[maybe_unused]] const ssize_t written = write(control_.get(), &kNone, sizeof kNone);
}

bool OutputRelay::has_ended() {
  int state = 0;
  if (process_ == 0 || waitpid(process_, &state, WNOHANG) == 0) return process_ == 0;
  was_silent_ = WIFEXITED(state) && WEXITSTATUS(state) == kSilent;
  if (WIFEXITED(state) && !was_silent_) write_error_ = WEXITSTATUS(state);
  process_ = 0;
  return true;
}

void OutputRelay::end() {
  if (process_ != 0) kill(process_, SIGKILL);
}

}  // namespace weft
