// trainer/run/run_folder.cpp: creates and locks a run's folder, and renames the files of an older run.
#include "trainer/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/create_folder.h"
#include "data/shards/manifest.h"
#include "tensor/clock.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/report/event_log.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

FileDescriptor locked(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) fail(ErrorKind::io, fmt::format("train.output: cannot create {}: {}", path, std::strerror(errno)));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail(ErrorKind::usage,
         fmt::format("another run is using {}: give a different train.output", fs::path(path).parent_path().string()));
  return file;  // not locked if the file system does not support locks
}

// Returns true if `path` is certain not to be the open file. False if the file system does not answer.
bool is_other_file(const FileDescriptor& file, const std::string& path) {
  struct stat own, now;
  if (!file || fstat(file.get(), &own) != 0) return false;
  if (stat(path.c_str(), &now) != 0) return errno == ENOENT || errno == ENOTDIR;
  return own.st_dev != now.st_dev || own.st_ino != now.st_ino;
}

void set_aside(const std::string& path) {
  if (!fs::exists(path)) return;
  std::string aside = path + ".old";
  for (int i = 2; fs::exists(aside); ++i) aside = fmt::format("{}.old{}", path, i);
  rename_durably(path, aside);
}

// Rejects a folder with a corpus or other checkpoints, which `weft verify`, for example, would confuse with the run.
void refuse_folder_of_others(const std::string& path) {
  const bool corpus = fs::exists(path + "/" + kManifestFile);
  if (corpus || fs::exists(path + "/" + kManifestName) || !step_folders(path).empty())
    fail(ErrorKind::usage, fmt::format("train.output = {} contains {}, but not a run: give a different folder", path,
                                       corpus ? "a packed corpus" : "checkpoints"));
}

}  // namespace

bool RunFolder::would_begin(const std::string& path, bool fresh) {
  std::error_code ignored;  // create_folder() reports the error later
  return fresh || !fs::exists(path + "/checkpoints", ignored);
}

RunFolder::RunFolder(const std::string& path, bool fresh) : path_(path) {
  create_folder(path, "train.output");
  if (!fs::exists(checkpoints())) refuse_folder_of_others(path);
  lock_ = locked(path + "/.lock");
  if (fresh || !fs::exists(checkpoints())) {  // a run without checkpoints starts from scratch; its log is renamed
    set_aside(checkpoints());
    set_aside(log());
  }
  create_folder(checkpoints(), "train.output");
  remove_temporary_checkpoints(checkpoints());  // the lock shows that their writers have ended
  for (const std::string& file : {config(), finished(), stopped()}) remove_left_behind(file);
}

void RunFolder::require_checkpoints(const std::string& path, bool fresh) {
  const std::string log = path + "/log.jsonl", checkpoints = path + "/checkpoints";
  if (fresh || !fs::exists(log) || fs::exists(checkpoints)) return;
  if (const int64_t step = last_logged_step(path); step > 0)
    fail(ErrorKind::checkpoint,
         fmt::format("{} lists {} steps, but {} is gone: put it back, give a different train.output, or start over "
                     "from step 0 with --train.fresh=true",
                     log, step, checkpoints));
}

int64_t RunFolder::last_logged_step(const std::string& path) {
  int64_t last = 0;
  if (const std::string log = path + "/log.jsonl"; fs::exists(log))
    for_each_record(log, [&](const nlohmann::json& record) { last = record.value("step", last); });
  return last;
}

void RunFolder::require_visible(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path + "/checkpoints", error))
    fail(ErrorKind::usage, fmt::format("train.output = {}: the folder made by rank 0 is not visible on this host: give "
                                       "a folder on a file system that all hosts share",
                                       path));
}

void RunFolder::note_started() {
  log_ = FileDescriptor(open(log().c_str(), O_RDONLY | O_CLOEXEC));
  for (const std::string& note : {finished(), stopped()}) fs::remove(note);
}

bool RunFolder::is_lost_now() const { return is_other_file(lock_, path_ + "/.lock") || is_other_file(log_, log()); }

bool RunFolder::is_lost() {
  constexpr double kSeconds = 1;  // because a network file system answers slowly
  const double now = monotonic_seconds();
  if (is_lost_ || now - looked_at_ < kSeconds) return is_lost_;
  looked_at_ = now;
  return is_lost_ = is_lost_now();
}

void RunFolder::require_own() const {
  if (is_lost_now())
    fail(ErrorKind::io, fmt::format("train.output: the folder {}, or a file in it, was removed or replaced during the "
                                    "run, which therefore ends without saving; start it again, in a different folder "
                                    "if another run uses this one",
                                    path_));
}

void RunFolder::note_finished(int64_t step) const { write_file_atomically(finished(), fmt::format("step {}\n", step)); }

void RunFolder::note_stopped(int64_t step) const { write_file_atomically(stopped(), fmt::format("step {}\n", step)); }

}  // namespace weft
