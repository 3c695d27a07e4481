// trainer/report/tensorboard.h: writes the records of log.jsonl (docs/formats/log-format.md) to an event file for
// TensorBoard.
//
// The event file contains nothing that the log lacks, so it is never resumed. Each start writes a new one from the log,
// from which the steps that will be repeated are already cut off, and then appends. Each file starts with a session
// start at step 0, which makes an open TensorBoard forget the file before. docs/monitoring.md lists the tags. The
// format is TFRecord frames around Event messages (tensorflow/core/util/event.proto).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "trainer/report/append_file.h"

namespace weft {

class TensorBoardEncoder {
 public:
  static std::string begin(const std::string& config, double time);  // start of a file; shows `config` as text
  std::string events(const nlohmann::json& record);                  // as frames; call it in the order of the log

 private:
  double seconds_ = 0;  // sum over the steps so far: the time of records without one
  std::string stage_;   // stage of the data at the last step
};

class TensorBoardLog {
 public:
  // Starts a new file in `folder`, which is made if necessary. Weft's earlier event files there are emptied. The last
  // few are kept because a TensorBoard may be reading them. Errors are of kind io.
  TensorBoardLog(const std::string& folder, const std::string& config);
  ~TensorBoardLog() { file_->write(); }

  // Events reach the file at most once per second, and with the last record, so a run's steps do not wait for its disk.
  // What cannot be written, for example to a full disk, stays in memory, and these return false.
  bool write(const nlohmann::json& record);
  bool write_kept() { return is_written_ = file_->write(); }
  void flush() { file_->flush(); }  // throws an Error of kind io if events cannot be written

 private:
  TensorBoardEncoder encoder_;
  std::optional<AppendFile> file_;
  double written_at_ = 0;   // by monotonic_seconds()
  bool is_written_ = true;  // result of the last attempt
};

}  // namespace weft
