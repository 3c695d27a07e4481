// trainer/run/run_folder.h: creates and locks a run's folder, which contains config.cfg, log.jsonl, tensorboard/,
// checkpoints/, tuned_gemms, finished and stopped.
//
// Only world rank 0 constructs a RunFolder, but all ranks write checkpoints to the folder. Errors are of kind io, or
// usage if another run uses the folder.
#pragma once

#include <cstdint>
#include <string>

#include "data/atomic_file.h"

namespace weft {

class RunFolder {
 public:
  // Creates the folder if necessary and locks it. With `fresh`, or if checkpoints/ is missing, an earlier run's files
  // are renamed to checkpoints.old and log.jsonl.old (or .old2, ...). Throws an Error of kind usage if the folder
  // contains a corpus, or checkpoints that do not belong to a run.
  RunFolder(const std::string& path, bool fresh);

  // True if a run in this folder would start from scratch, because of `fresh` or because checkpoints/ is missing.
  static bool would_begin(const std::string& path, bool fresh);

  // Throws an Error of kind checkpoint if the log has steps, but checkpoints/ is missing: a run must not start over
  // unasked. With `fresh`, nothing is required.
  static void require_checkpoints(const std::string& path, bool fresh);
  static int64_t last_logged_step(const std::string& path);  // 0 if the log is missing or has no step

  // True if .lock or log.jsonl is certainly no longer the file that the run opened, because the folder was removed or
  // replaced. Looks at most once per second.
  bool is_lost();
  void require_own() const;  // looks now, and throws an Error of kind io if the folder is lost

  // Throws an Error of kind usage if this rank cannot see the folder that the main rank created.
  static void require_visible(const std::string& path);

  std::string checkpoints() const { return path_ + "/checkpoints"; }
  std::string log() const { return path_ + "/log.jsonl"; }
  std::string tensorboard() const { return path_ + "/tensorboard"; }
  std::string config() const { return path_ + "/config.cfg"; }
  std::string finished() const { return path_ + "/finished"; }
  std::string stopped() const { return path_ + "/stopped"; }
  // An earlier start's files `finished` and `stopped` are removed by note_started(). Scripts read these files, because
  // an exit status may also come from a launcher.
  void note_started();                     // REQUIRES: the log is open
  void note_finished(int64_t step) const;  // writes the file `finished`
  void note_stopped(int64_t step) const;   // writes the file `stopped`: the run has saved on request

 private:
  bool is_lost_now() const;

  std::string path_;
  bool is_lost_ = false;  // what is_lost() saw
  double looked_at_ = 0;  // when it looked
  FileDescriptor lock_;   // an flock, which is released when the process ends for any reason
  FileDescriptor log_;    // keeps the log's inode number from being used again
};

}  // namespace weft
