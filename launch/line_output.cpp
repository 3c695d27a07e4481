// launch/line_output.cpp: compares the input with that of earlier calls.
#include "launch/line_output.h"

#include <cstdio>
#include <filesystem>

#include "data/atomic_file.h"
#include "launch/open_model.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {

int64_t LineOutput::skip_finished(const std::function<bool(std::string& line)>& next) {
  if (!files_ || files_->num_lines() == 0) return 0;
  std::string line;
  int64_t skipped = 0;
  while (skipped < files_->num_lines() && next(line)) add_to_digest(line), ++skipped;
  if (skipped < files_->num_lines() || digest_.hex_so_far() != files_->input_digest())
    fail(ErrorKind::data,
         fmt::format("the input does not begin with the lines whose output {} describes: restore the input, or "
                     "remove this file and the .part files",
                     files_->state_file()));
  return skipped;
}

void LineOutput::write(std::string_view text, size_t file) {
  if (files_) return files_->write(file, text);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void LineOutput::commit(const std::vector<std::string>& lines) {
  if (!files_) {
    if (std::fflush(stdout) != 0) fail(ErrorKind::io, "standard output is closed, or its disk is full");
    return;
  }
  if (lines.empty()) return;
  for (const std::string& line : lines) add_to_digest(line);
  files_->commit(files_->num_lines() + std::ssize(lines), digest_.hex_so_far());
}

void LineOutput::finish() {
  if (files_) files_->finish();
}

void LineOutput::add_to_digest(const std::string& line) {
  digest_.update(line.data(), line.size());
  digest_.update("\n", 1);
}

std::string name_with_digest(const std::string& checkpoint) {
  return fmt::format("{} with SHA-256 {:.16}", std::filesystem::path(checkpoint).filename().string(),
                     sha256_of(read_file(checkpoint + "/" + kManifestName)));
}

ResumableFiles::Job job_of(const Options& options, const std::string& checkpoint, const Mesh& mesh) {
  ResumableFiles::Job job;
  for (const auto& [name, value] : options.values())
    if (!name.starts_with("parallel.")) job["--" + name] = value;
  for (const char* name : {"--output", "--batch", "--quiet", "--source", "--target", "--bad-lines"}) job.erase(name);
  job["--checkpoint"] = name_with_digest(checkpoint);
  job["--device"] = mesh.device() == Device::cuda ? "cuda" : "cpu";
  job["--parallel.tp"] = std::to_string(mesh.tp().size());
  return job;
}

bool open_output(Communicator& world, const std::vector<std::string>& files, const ResumableFiles::Job& job,
                 std::optional<LineOutput>& output) {
  return number_of_rank0(world, [&] {
           files.empty() ? output.emplace() : output.emplace(files, job);
           return output->is_complete() ? 1 : 0;
         }) == 1;
}

}  // namespace weft
