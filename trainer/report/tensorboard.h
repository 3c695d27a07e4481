// trainer/report/tensorboard.h: the records of log.jsonl (docs/log-format.md) as an event file for TensorBoard.
//
// The event file has nothing that the log does not have, so it is never resumed: each start writes a new one from the
// log, from which the steps that will be repeated are already cut off, and then appends. Each file begins with a start
// of a session at step 0: a TensorBoard that is open forgets what it read of the file before. docs/monitoring.md lists
// the tags. Format: TFRecord frames around Event messages (tensorflow/core/util/event.proto).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "trainer/report/append_file.h"

namespace weft {

class TensorBoardEncoder {
 public:
  static std::string begin(const std::string& config, double time);  // of a file; `config` is shown as text
  std::string events(const nlohmann::json& record);                  // frames; records come in the order of the log

 private:
  double seconds_ = 0;  // of the steps so far: the time of records that have none
  std::string stage_;   // of the data, at the last step
};

class TensorBoardLog {
 public:
  // Begins a new file in `folder`, which is made if necessary. Weft's earlier event files there are emptied; the last
  // few stay, since a TensorBoard may be reading them. Errors are of kind io.
  TensorBoardLog(const std::string& folder, const std::string& config);
  ~TensorBoardLog() { file_->write(); }

  // Events reach the file at most once a second, and with the last record: a run's steps do not wait for its disk. What
  // cannot be written, to a full disk for instance, stays in memory; then these return false.
  bool write(const nlohmann::json& record);
  bool write_kept() { return is_written_ = file_->write(); }
  void flush() { file_->flush(); }  // Error of kind io if events cannot be written

 private:
  TensorBoardEncoder encoder_;
  std::optional<AppendFile> file_;
  double written_at_ = 0;   // by monotonic_seconds()
  bool is_written_ = true;  // by the last attempt
};

}  // namespace weft
