// launch/start/session.cpp: finds the processes of a session in /proc.
#include "launch/start/session.h"

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace weft {
namespace {

pid_t session_of(const std::string& folder) {  // -1: there is no such process
  std::ifstream in(folder + "/stat");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t name_end = text.rfind(')');  // the name may contain blanks and parentheses
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  pid_t parent = 0, group = 0, session = -1;
  fields >> state >> parent >> group >> session;
  return fields ? session : -1;
}

}  // namespace

void kill_session(pid_t leader) {
  kill(leader, SIGKILL);  // first, so that it starts no more processes
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc()) continue;
    if (process != leader && session_of(entry.path()) == leader) kill(process, SIGKILL);
  }
}

}  // namespace weft
