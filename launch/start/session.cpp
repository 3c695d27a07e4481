// launch/start/session.cpp: finds the processes of a session in /proc.
#include "launch/start/session.h"

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Process {
  pid_t id = 0;
  char state = 0;      // a letter of proc(5), for example T: stopped
  std::string folder;  // in /proc
};

bool read_stat(const std::string& folder, char& state, pid_t& session) {
  std::ifstream in(folder + "/stat");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t name_end = text.rfind(')');  // the name may contain blanks and parentheses
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  pid_t parent = 0, group = 0;
  fields >> state >> parent >> group >> session;
  return static_cast<bool>(fields);
}

std::vector<Process> processes_of(pid_t leader) {
  std::vector<Process> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/proc", none)) {
    const std::string name = entry.path().filename();
    Process process{.folder = entry.path()};
    if (std::from_chars(name.data(), name.data() + name.size(), process.id).ec != std::errc()) continue;
    if (pid_t session = 0; read_stat(process.folder, process.state, session) && session == leader)
      found.push_back(std::move(process));
  }
  return found;
}

}  // namespace

void kill_session(pid_t leader) {
  kill(leader, SIGKILL);  // first, so that it starts no more processes
  for (const Process& process : processes_of(leader))
    if (process.id != leader) kill(process.id, SIGKILL);
}

ProcessCounts count_own_program(pid_t leader) {
  ProcessCounts counts;
  for (const Process& process : processes_of(leader)) {
    std::error_code ended;  // also if the status of an ended process has not been taken
    if (!fs::equivalent(process.folder + "/exe", "/proc/self/exe", ended) || ended) continue;
    ++counts.all;
    counts.stopped += process.state == 'T' ? 1 : 0;
  }
  return counts;
}

}  // namespace weft
