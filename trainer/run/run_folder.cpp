// trainer/run/run_folder.cpp: makes, locks and clears a run's folder.
#include "trainer/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "data/shards/manifest.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(ErrorKind::io, fmt::format("train.output: cannot make the folder {}: {}", path, error.message()));
}

FileDescriptor locked(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) fail(ErrorKind::io, fmt::format("train.output: cannot make {}: {}", path, std::strerror(errno)));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail(ErrorKind::usage,
         fmt::format("another run is using {}: give a different train.output (under Slurm: srun --mpi=pmix)",
                     fs::path(path).parent_path().string()));
  return file;  // unlocked if the file system has no locks
}

void set_aside(const std::string& path) {
  if (!fs::exists(path)) return;
  std::string aside = path + ".old";
  for (int i = 2; fs::exists(aside); ++i) aside = fmt::format("{}.old{}", path, i);
  rename_durably(path, aside);
}

// Rejects a folder whose contents would hide the run from `weft verify`, `inspect` and `average`, or be hidden by it.
void refuse_folder_of_others(const std::string& path) {
  const bool corpus = fs::exists(path + "/" + kManifestFile);
  if (corpus || fs::exists(path + "/" + kManifestName) || !step_folders(path).empty())
    fail(ErrorKind::usage, fmt::format("train.output = {} contains {}, but not a run: give a different folder", path,
                                       corpus ? "a packed corpus" : "checkpoints"));
}

}  // namespace

bool RunFolder::would_begin(const std::string& path, bool fresh) {
  std::error_code ignored;  // making the folder reports it
  return fresh || !fs::exists(path + "/checkpoints", ignored);
}

RunFolder::RunFolder(const std::string& path, bool fresh) : path_(path) {
  make_folder(path);
  if (!fs::exists(checkpoints())) refuse_folder_of_others(path);
  lock_ = locked(path + "/.lock");
  if (fresh || !fs::exists(checkpoints())) {  // a run without checkpoints starts from scratch, but its log is kept
    set_aside(checkpoints());
    set_aside(log());
  }
  make_folder(checkpoints());
}

void RunFolder::require_visible(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path + "/checkpoints", error))
    fail(ErrorKind::usage, fmt::format("train.output = {}: the folder made by rank 0 is not visible on this host: give "
                                       "a folder on a file system that all hosts share",
                                       path));
}

void RunFolder::note_started() const { fs::remove(path_ + "/finished"); }

void RunFolder::note_finished(int64_t step) const {
  write_file_atomically(path_ + "/finished", fmt::format("step {}\n", step));
}

}  // namespace weft
