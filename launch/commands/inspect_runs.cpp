// launch/commands/inspect_runs.cpp: `weft inspect RUN... --html FILE`.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "data/atomic_file.h"
#include "launch/commands/inspect.h"
#include "launch/reports/run_page.h"
#include "tensor/error.h"
#include "trainer/report/event_log.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

fs::path whole_path(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

void write_run_page(const std::vector<std::string>& folders, const std::string& file) {
  std::vector<PageRun> runs;
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    const fs::path path = whole_path(folder), config = path / "config.cfg";
    std::string name = path.filename().string();
    if (!names.insert(name).second) name = folder;  // of the same name elsewhere
    runs.push_back({.name = name,
                    .config = fs::exists(config) ? read_file(config) : "",
                    .log = read_event_log(path / "log.jsonl")});
    if (runs.back().log.empty())
      fail(ErrorKind::usage, fmt::format("{} has no step yet: there is nothing to show", folder));
  }
  write_file_atomically(file, run_page(runs));
}

}  // namespace weft
