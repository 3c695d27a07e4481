// launch/start/host_probe.cpp: starts a shell on each host, and reads what it prints.
#include "launch/start/host_probe.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "launch/start/program_build.h"
#include "launch/start/rank_command.h"
#include "tensor/clock.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr char kReached[] = "weft launch: reached";
constexpr size_t kMaxLine = 300;  // bytes of a problem

std::vector<std::string> question(const ProgramToFind& program, const Host& host) {
  const std::string script = fmt::format("echo {}; cd \"$1\" && exec \"$2\" --version", kReached);
  const std::string folder = std::filesystem::current_path();
  return mpirun_command(program.mpirun, {.ranks = 1,
                                         .hosts = {host},
                                         .words = {"/bin/sh", "-c", script, "sh", folder, program.weft},
                                         .in_this_folder = false});
}

// Returns the last line that is not empty.
std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = printable(line, kMaxLine);
  return last;
}

HostAnswer answer_of(const Supervisor::Outcome& outcome, const ProgramToFind& program) {
  HostAnswer answer;
  std::istringstream lines(outcome.output);
  std::string build, rest;
  for (std::string line; std::getline(lines, line);) {
    if (line == kReached) {
      answer.reached = true;
    } else if (line.starts_with(kBuildLine)) {
      build = line.substr(std::string_view(kBuildLine).size());
    } else {
      rest += line + "\n";
    }
  }
  if (!outcome.status) {
    answer.problem = "no answer in time";
  } else if (*outcome.status != 0) {
    answer.problem = rest.empty() ? fmt::format("status {}", *outcome.status) : last_line(rest);
  } else if (const std::string other = build.empty() ? last_line(rest) : build_difference(program.build, build);
             !other.empty()) {
    answer.problem = fmt::format("it has {}: install the same build on all hosts", other);
  }
  return answer;
}

}  // namespace

std::vector<HostAnswer> ask_hosts(Supervisor& supervisor, const ProgramToFind& program, const std::vector<Host>& hosts,
                                  double seconds) {
  std::vector<HostAnswer> answers(hosts.size());
  const double end = monotonic_seconds() + seconds;
  for (int attempt = 0; attempt < 2 && !supervisor.stopped() && monotonic_seconds() < end; ++attempt) {
    std::vector<size_t> asked;
    std::vector<std::vector<std::string>> questions;
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (answers[i].reached) continue;
      asked.push_back(i);
      questions.push_back(question(program, hosts[i]));
    }
    const std::vector<Supervisor::Outcome> outcomes = supervisor.run_briefly(questions, end - monotonic_seconds());
    for (size_t i = 0; i < asked.size(); ++i)
      if (outcomes[i].status || attempt == 0) answers[asked[i]] = answer_of(outcomes[i], program);
  }
  return answers;
}

void require_program_on_hosts(const std::vector<Host>& hosts, const std::vector<HostAnswer>& answers) {
  for (size_t i = 0; i < hosts.size(); ++i)
    if (answers[i].reached && !answers[i].problem.empty())
      fail(ErrorKind::usage, fmt::format("{} cannot run this command: {}", hosts[i].name, answers[i].problem));
}

std::string describe_problems(const std::vector<Host>& hosts, const std::vector<HostAnswer>& answers) {
  std::string text;
  for (size_t i = 0; i < hosts.size(); ++i)
    if (!answers[i].problem.empty())
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", hosts[i].name, answers[i].problem);
  return text;
}

}  // namespace weft
