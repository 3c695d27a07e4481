// model/parameters/memory_limit.cpp: reads the limits of all levels of a path, because each applies to levels below.
#include "model/parameters/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

namespace weft {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

size_t limit_in(const std::filesystem::path& file) {  // "max" or a missing file means no limit
  size_t bytes = 0;
  return std::ifstream(file) >> bytes ? bytes : kNoLimit;
}

// In a container, only the process's own group may be mounted, but the path is the host's. So missing levels are
// skipped.
size_t smallest_limit(const std::filesystem::path& mount, const std::string& group, const char* file) {
  std::filesystem::path level = mount / std::filesystem::path(group).relative_path();
  size_t smallest = limit_in(mount / file);
  for (; level != mount && level.has_relative_path(); level = level.parent_path())
    smallest = std::min(smallest, limit_in(level / file));
  return smallest;
}

bool lists_memory(const std::string& controllers) {  // "cpu,memory"
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

size_t control_group_limit(const std::string& root) {
  const std::filesystem::path mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");  // lines of "number:controllers:path"; version 2 is "0::path"
  size_t smallest = kNoLimit;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) smallest = std::min(smallest, smallest_limit(mount, group, "memory.max"));
    if (lists_memory(controllers))
      smallest = std::min(smallest, smallest_limit(mount / "memory", group, "memory.limit_in_bytes"));
  }
  return smallest;
}

size_t memory_limit() {
  const size_t machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  return std::min(machine, control_group_limit());
}

}  // namespace weft
