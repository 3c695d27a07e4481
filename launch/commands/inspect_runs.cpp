// launch/commands/inspect_runs.cpp: writes the files about all runs for `weft inspect RUN... --html --tensorboard`.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "data/atomic_file.h"
#include "launch/commands/inspect.h"
#include "launch/reports/run_page.h"
#include "tensor/error.h"
#include "trainer/report/event_log.h"
#include "trainer/report/tensorboard.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBytesThatTell = 256;  // bytes at the start of a file that show its kind

std::string log_of(const std::string& folder) { return (fs::path(folder) / "log.jsonl").string(); }

std::vector<PageRun> open_runs(const std::vector<std::string>& folders) {
  const std::vector<std::string> names = distinct_names(folders);
  std::vector<PageRun> runs;
  for (size_t i = 0; i < folders.size(); ++i) {
    if (std::ranges::count(names, names[i]) > 1) fail(ErrorKind::usage, fmt::format("{} is given twice", folders[i]));
    const fs::path folder = folders[i], config = folder / "config.cfg";
    const std::string log = log_of(folders[i]);
    runs.push_back({.name = names[i],
                    .config = fs::exists(config) ? read_file(config) : "",
                    .log = [log](const RecordVisitor& visit) { for_each_scored_record(log, visit); }});
    if (!LogLines(log).next())
      fail(ErrorKind::usage, fmt::format("the log of {} has no step yet, so there is nothing to show", folders[i]));
  }
  return runs;
}

// Refuses a folder inside a run, because training itself writes an event file there.
void require_no_folder_of_a_run(const std::string& folder) {
  std::error_code none;
  if (fs::is_directory(folder, none) && fs::exists(fs::canonical(folder).parent_path() / "log.jsonl", none))
    fail(ErrorKind::usage, fmt::format("--tensorboard {} is used by the run itself: give a different folder", folder));
}

std::vector<std::string> folders_of_events(const std::vector<std::string>& runs, const std::string& folder) {
  if (folder.empty()) return {};
  if (runs.size() == 1) return {folder};
  std::vector<std::string> folders;
  for (const std::string& name : distinct_names(runs)) folders.push_back(folder + "/" + name);
  return folders;
}

// Error of kind usage if the path is a folder, or an existing file that is not HTML and would be lost.
void require_replaceable_page(const std::string& path) {
  constexpr std::string_view kTag = "<html";
  std::error_code none;
  if (fs::is_directory(path, none)) fail(ErrorKind::usage, fmt::format("--html {} is a folder: give a file", path));
  if (!fs::is_regular_file(path, none)) return;
  std::ifstream file(path, std::ios::binary);
  std::string begin(kBytesThatTell, '\0');
  file.read(begin.data(), std::ssize(begin));
  begin.resize(static_cast<size_t>(file.gcount()));
  if (!begin.empty() && begin.find(kTag) == std::string::npos)
    fail(ErrorKind::usage,
         fmt::format("--html {} exists but does not start with {}, so it is not replaced: give a different name", path,
                     kTag));
}

}  // namespace

void write_views_of_runs(const std::vector<std::string>& folders, const RunView& view) {
  if (!view.html.empty()) require_replaceable_page(view.html);
  const std::vector<std::string> folders_to_write = folders_of_events(folders, view.tensorboard);
  for (const std::string& folder : folders_to_write) require_no_folder_of_a_run(folder);
  const std::vector<PageRun> runs = open_runs(folders);
  if (!view.html.empty()) {
    write_file_atomically(view.html, run_page(runs));
    fmt::print("{}: curves, samples and configurations; open it in a browser\n", view.html);
  }
  for (size_t i = 0; i < folders_to_write.size(); ++i) {
    TensorBoardLog events(folders_to_write[i], runs[i].config);
    for_each_record(log_of(folders[i]), [&](const nlohmann::json& record) { events.write(record); });
    events.flush();
    fmt::print("{}: events; show them with: tensorboard --logdir {}\n", folders_to_write[i], view.tensorboard);
  }
}

}  // namespace weft
