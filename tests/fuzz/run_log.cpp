// tests/fuzz/run_log.cpp: log.jsonl of a run: resuming shortens it, `weft inspect` draws it, and `weft watch` follows
// it.
#include "launch/commands/inspect.h"
#include "launch/reports/watch_screen.h"
#include "tests/fuzz/target.h"
#include "trainer/report/event_log.h"
#include "trainer/report/log_follower.h"

namespace {

// Shows the log while it grows: first a part that may end within a line, then all of it.
void watch(std::string_view bytes) {
  weft::WatchedRun run{.name = "run", .latest = "step-00000003"};
  weft::LogFollower follower(weft::fuzz::folder() / "log.jsonl");
  for (const size_t size : {bytes.size() / 2, bytes.size()}) {
    weft::fuzz::file("log.jsonl", bytes.substr(0, size));
    follower.update([&] { run.log.clear(); }, [&](const nlohmann::json& record) { run.log.add(record); });
    for (const weft::ScreenSize screen : {weft::ScreenSize{.columns = 20, .rows = 5}, weft::ScreenSize{}})
      weft::watch_screen(run, screen, /*utf8=*/true);
  }
}

void read_input(std::string_view bytes) {
  const std::string log = weft::fuzz::file("log.jsonl", bytes);
  const auto& folder = weft::fuzz::folder();
  const weft::RunView view{
      .chart = true, .curve = "", .html = folder / "page.html", .tensorboard = folder / "tensorboard"};
  weft::inspect_run(folder.path(), view);
  weft::write_views_of_runs({folder.path()}, view);
  const weft::EventLog resumed(log, /*last_step=*/3);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return weft::fuzz::without_output(); }
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input) + weft::fuzz::feed(data, size, watch);
}
