// tests/fuzz/run_log.cpp: log.jsonl of a run: resuming shortens it, `weft inspect` draws it.
#include "launch/commands/inspect.h"
#include "tests/fuzz/target.h"
#include "trainer/report/event_log.h"

namespace {

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
  return weft::fuzz::feed(data, size, read_input);
}
