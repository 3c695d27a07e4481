// data/output/resumable_files.h: the output of a long job, which continues after it was killed at any moment.
//
// Until the job is complete, the lines of PATH are in PATH.part, and FIRST_PATH.part.json states how many input lines
// are finished, how long the files were then, and what was computed with which options. What a killed process wrote
// later is cut off. When the job is complete, the files get their names; a name that ends with .gz, .zst or .xz gets a
// packed file. One process at a time can work on a job (flock).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/atomic_file.h"

namespace weft {

class ResumableFiles {
 public:
  // What the output depends on: names and values, such as {"--beam", "5"}.
  using Job = std::map<std::string, std::string>;

  // Opens the files of an earlier call with the same paths, or new ones. Throws a usage Error if a path exists, if
  // another process works on the job, or if `job` differs from that of the earlier call.
  ResumableFiles(const std::vector<std::string>& paths, Job job);

  bool is_complete() const { return is_complete_; }                  // the earlier call was killed after its last line
  int64_t num_lines() const { return num_lines_; }                   // finished input lines
  const std::string& input_digest() const { return input_digest_; }  // of these lines, as given to commit()
  const std::string& state_file() const { return state_file_; }

  void write(size_t path, std::string_view text);
  // Makes durable what was written for the first `num_lines` input lines. Throws an io Error, for example if the disk
  // is full; the job then continues from the last commit().
  void commit(int64_t num_lines, const std::string& input_digest);
  void finish();  // gives the files their names

 private:
  struct File {
    std::string path, part;
    FileDescriptor descriptor;
    int64_t bytes = 0;
    std::string unwritten;
  };
  void read_state();
  void open_part(File& file);
  void cut_off(const File& file) const;
  static void flush(File& file);
  void write_state() const;
  void give_names();

  std::string state_file_;
  Job job_;
  std::vector<File> files_;
  int64_t num_lines_ = 0;
  std::string input_digest_;
  bool is_complete_ = false;
};

}  // namespace weft
