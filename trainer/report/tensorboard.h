// trainer/report/tensorboard.h: writes log.jsonl (docs/formats/log-format.md) to an event file for TensorBoard.
//
// The event file is never continued, because it can be computed from the log. Instead, each start of a run cuts off the
// log at the first step to repeat, writes the log to a new event file, and then appends new events. Each event file
// begins with a session start at step 0, which makes an open TensorBoard discard earlier events. docs/monitoring.md
// lists the tags. The format is TFRecord frames around Event messages (tensorflow/core/util/event.proto).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "trainer/report/append_file.h"

namespace weft {

class TensorBoardEncoder {
 public:
  static std::string begin(const std::string& config, double time);  // the first events, with `config` as text
  std::string events(const nlohmann::json& record);                  // frames; call this in the order of the log

 private:
  double seconds_ = 0;  // sum over the steps so far, used for records without a time
  std::string stage_;   // stage of the data at the last step
};

class TensorBoardLog {
 public:
  // Starts a new file in `folder`, and creates the folder if necessary. Removes Weft's earlier event files from it, but
  // only empties the last few, because a TensorBoard may be reading them. Errors are of kind io.
  TensorBoardLog(const std::string& folder, const std::string& config);
  ~TensorBoardLog() { file_->write(); }

  // Writes the events of steps at most once per second, so that steps do not wait for the disk, and other events at
  // once. Events that cannot be written, for example to a full disk, stay in memory, and both functions return false.
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
