// launch/line_output.h: where a command writes what it computes for each line of its input: standard output, or files
// that continue after the command was killed (data/output/resumable_files.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/output/resumable_files.h"
#include "data/sha256.h"
#include "launch/options/options.h"
#include "parallel/mesh.h"

namespace weft {

class LineOutput {
 public:
  LineOutput() = default;  // standard output
  LineOutput(const std::vector<std::string>& files, ResumableFiles::Job job)
      : files_(std::in_place, files, std::move(job)) {}

  bool is_complete() const {
    return files_ && files_->is_complete();
  }  // an earlier call was killed after its last line
  // Reads the input lines that earlier calls finished, and returns their number. Throws a data Error if they differ.
  int64_t skip_finished(const std::function<bool(std::string& line)>& next);

  void write(std::string_view text, size_t file = 0);
  // Makes durable what was written for these lines, which follow those of earlier calls. Throws an io Error.
  void commit(const std::vector<std::string>& lines);
  void finish();

 private:
  void add_to_digest(const std::string& line);

  std::optional<ResumableFiles> files_;
  Sha256 digest_;  // of the finished input lines
};

inline constexpr const char* kOutputSentence =
    "file for the results instead of standard output; .gz, .zst or .xz at the end packs it; the same command continues "
    "a job that was killed, on any number of ranks; see docs/decoding.md";

std::string name_with_digest(const std::string& checkpoint);  // folder's name and SHA-256 of its manifest

// What decides the bytes of the output, besides the input: the options, the checkpoint, the device and tp.
ResumableFiles::Job job_of(const Options& options, const std::string& checkpoint, const Mesh& mesh);

// Opens the output on rank 0; without files, standard output. Returns on every rank whether an earlier call was killed
// after its last line, so that nothing is left to do.
bool open_output(Communicator& world, const std::vector<std::string>& files, const ResumableFiles::Job& job,
                 std::optional<LineOutput>& output);

}  // namespace weft
