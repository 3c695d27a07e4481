// trainer/run/tuned_gemms.cpp: reads and writes the GEMM choices of a run.
#include "trainer/run/tuned_gemms.h"

#include <algorithm>
#include <filesystem>

#include "data/atomic_file.h"
#include "data/sha256.h"
#include "tensor/error.h"

namespace weft {
namespace {

std::string path_in(const std::string& run) { return run + "/tuned_gemms"; }
std::string last_line(const std::string& text) { return "SHA-256 " + sha256_of(text) + "\n"; }

}  // namespace

std::string read_tuned_gemms(const std::string& run) {
  const std::string path = path_in(run);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  const std::string content = read_file(path);
  const size_t size = last_line("").size(), end = content.size() < size ? 0 : content.size() - size;
  const std::string text = content.substr(0, end);
  if (content.substr(end) != last_line(text))
    fail(ErrorKind::io, fmt::format("{} is damaged: delete the file to time matrix products again", path));
  return text;
}

void write_tuned_gemms(const std::string& run, const std::string& text) {
  write_file_atomically(path_in(run), text + last_line(text));
}

std::string tune_gemms(Trainer& trainer, const std::string& run, const std::string& kept, Communicator& world) {
  const std::string known = world.broadcast_string(kept, /*root=*/0);
  const std::string chosen = trainer.tune_gemms(known);
  if (chosen == known) return "";
  all_or_none(world, [&] {
    if (world.is_main_rank()) write_tuned_gemms(run, chosen);
  });
  const bool same_device = known.starts_with(chosen.substr(0, chosen.find('\n') + 1));
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  return fmt::format("timed {} matrix products{}", lines(chosen) - (same_device ? lines(known) : 1),
                     known.empty() || same_device ? "" : ", because the GPU or cuBLASLt has changed");
}

}  // namespace weft
