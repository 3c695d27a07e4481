// launch/commands/watch.cpp: `weft watch` shows a run live, from any shell that can read the run's folder.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/commands.h"
#include "launch/options/options.h"
#include "launch/reports/watch_screen.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/config/config_text.h"
#include "trainer/display/chart.h"
#include "trainer/display/progress.h"
#include "trainer/report/log_follower.h"
#include "trainer/signals.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr char kWatchUsage[] = R"(watch RUN [options]

Shows a run's progress, speed, curves, validations and checkpoints until you press Ctrl-C. The command reads
log.jsonl in the run's folder and does not disturb the run. It continues when the run is resumed. If standard output
is not a terminal, or the terminal cannot redraw (TERM=dumb), the command prints the current state once.)";

constexpr char kOtherScreen[] = "\x1b[?1049h\x1b[?25l", kOwnScreen[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H", kEraseLine[] = "\x1b[K", kEraseBelow[] = "\x1b[J";

struct WatchRequest {
  std::vector<std::string> run;
  bool once = false;
  double seconds = 1;
};

bool parse(const std::vector<std::string>& args, WatchRequest& r) {
  Options options(kWatchUsage);
  options.positional("RUN", r.run, "folder of the run (train.output)");
  options.add("once", r.once, "print the current state once, then exit");
  options.add("seconds", r.seconds, "seconds between updates");
  if (!options.parse(args)) return false;
  if (r.run.size() != 1) fail(ErrorKind::usage, "RUN must be the folder of one run; usage: weft watch RUN");
  if (r.seconds < 0.1) fail(ErrorKind::usage, fmt::format("--seconds must be at least 0.1, but is {}", r.seconds));
  return true;
}

double seconds_since_change(const fs::path& file) {
  std::error_code none;
  const auto changed = fs::last_write_time(file, none);
  return none ? 0 : std::chrono::duration<double>(fs::file_time_type::clock::now() - changed).count();
}

class RunWatch {
 public:
  explicit RunWatch(const fs::path& folder) : folder_(folder), log_((folder / "log.jsonl").string()) {
    if (!fs::exists(folder)) fail(ErrorKind::usage, fmt::format("{}: there is no such folder", folder.string()));
    if (fs::exists(folder / kManifestName))
      fail(ErrorKind::usage, fmt::format("{} is a checkpoint: give the folder of its run", folder.string()));
    if (!fs::exists(folder / "config.cfg"))
      fail(ErrorKind::usage, fmt::format("{} is not the folder of a run: it has no config.cfg", folder.string()));
    run_.name = fs::canonical(folder).filename().string();
  }

  std::string screen(const ScreenSize& size) {
    run_.config = RunConfig();
    apply_cfg_file((folder_ / "config.cfg").string(), run_.config);  // a resumed run may have changed it
    log_.update([&] { run_.log.clear(); }, [&](const nlohmann::json& record) { run_.log.add(record); });
    const std::string checkpoints = folder_ / "checkpoints";
    run_.latest = pointed_at(checkpoints, "latest").value_or(""),
    run_.best = pointed_at(checkpoints, "best").value_or("");
    run_.finished = fs::exists(folder_ / "finished");
    run_.silent_seconds = seconds_since_change(folder_ / "log.jsonl");
    return watch_screen(run_, size, locale_is_utf8());
  }

 private:
  fs::path folder_;
  LogFollower log_;
  WatchedRun run_;
};

ScreenSize size_of_terminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

// Draws over the old screen line by line, so that nothing flickers. Erases each old line before drawing, because later
// erasing would remove the last character of a line that fills the terminal.
std::string redrawn(const std::string& screen) {
  std::string text = std::string(kHome) + kEraseLine;
  for (const char c : screen) text += c == '\n' ? "\n" + std::string(kEraseLine) : std::string(1, c);
  return text + kEraseBelow;
}

struct OtherScreen {
  OtherScreen() { fmt::print("{}", kOtherScreen); }
  ~OtherScreen() { fmt::print("{}", kOwnScreen); }
};

void show_until_stopped(RunWatch& watch, double seconds) {
  const SignalWatch signals;
  const OtherScreen screen;
  while (signals.stop_signal() == 0) {
    const ScreenSize size = size_of_terminal();
    fmt::print("{}", redrawn(watch.screen({.columns = size.columns, .rows = size.rows - 1})));
    std::fflush(stdout);
    ::poll(nullptr, 0, static_cast<int>(1000 * seconds));  // a signal ends the wait
  }
}

}  // namespace

int run_watch(const CommandContext& context) {
  WatchRequest request;
  if (!parse(context.args, request)) return 0;
  RunWatch watch(fs::path(request.run.front()).lexically_normal());
  if (!request.once && can_redraw(STDOUT_FILENO)) show_until_stopped(watch, request.seconds);
  fmt::print("{}", watch.screen(size_of_terminal()));
  return 0;
}

}  // namespace weft
