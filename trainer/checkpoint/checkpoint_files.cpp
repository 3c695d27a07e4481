// trainer/checkpoint/checkpoint_files.cpp: finds, resolves, links and prunes checkpoints.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

#include "data/atomic_file.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {

namespace fs = std::filesystem;

namespace {

std::vector<fs::directory_entry> list_folder(const std::string& root) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) entries.push_back(*it);
  if (error) fail(ErrorKind::io, fmt::format("cannot list {}: {}", root, error.message()));
  return entries;
}

// Returns the reason why `check` rejects the folder, or "". Throws an Error if the folder cannot be read, because an
// unreadable folder may be intact, and skipping it would lose the work since the previous checkpoint.
template <typename Check>
std::string reason_against(const std::string& folder, Check check) {
  try {
    check(folder);
    return "";
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::io)
      fail(ErrorKind::io,
           fmt::format("cannot read checkpoint {}: {}; try again, or move it away and resume from an older checkpoint",
                       folder, e.what()));
    return e.what();
  }
}

bool has_manifest(const std::string& folder) {
  try {
    read_checkpoint_manifest(folder);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void report_passed_over(const std::string& folder, const std::string& reason) {
  print_note("checkpoint {} skipped: {}\n", folder, reason);
}

std::string without_trailing_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string name_of_path(const std::string& path) { return fs::path(without_trailing_slash(path)).filename().string(); }

std::set<std::string> targets_of_links(const std::string& root) {
  std::set<std::string> targets;
  for (const fs::directory_entry& entry : list_folder(root))
    if (const auto target = pointed_at(root, entry.path().filename().string())) targets.insert(*target);
  return targets;
}

FileDescriptor open_manifest(const std::string& folder, int flags) {
  return FileDescriptor(open((fs::path(folder) / kManifestName).c_str(), flags | O_CLOEXEC));
}

bool is_locked_by_another(const FileDescriptor& file, int lock) {
  return file && flock(file.get(), lock | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void remove_checkpoint(const std::string& folder) {
  const std::string temporary = temporary_name(folder);  // readers must not see a partly removed folder
  rename_durably(folder, temporary);
  std::error_code error;
  fs::remove_all(temporary, error);
  if (error) fail(ErrorKind::io, fmt::format("cannot remove {}: {}", temporary, error.message()));
}

}  // namespace

std::vector<std::string> step_folders(const std::string& root) {
  std::vector<int64_t> steps;
  for (const fs::directory_entry& entry : list_folder(root)) {
    std::error_code ignored;
    const auto step = step_of_folder(entry.path().filename().string());
    if (step && entry.is_directory(ignored)) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  std::vector<std::string> folders;
  for (const int64_t step : steps) folders.push_back(root + "/" + step_folder_name(step));
  return folders;
}

void remove_temporary_checkpoints(const std::string& root) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : list_folder(root))
    if (is_temporary_name(entry.path().filename().string())) fs::remove_all(entry.path(), ignored);
}

std::optional<std::string> find_latest_checkpoint(const std::string& root) {
  if (!fs::is_directory(root)) return std::nullopt;
  const std::vector<std::string> folders = step_folders(root);
  for (const std::string& folder : folders) {
    const std::string reason = reason_against(folder, verify_checkpoint);
    if (reason.empty()) return folder;
    report_passed_over(folder, reason);
  }
  if (folders.empty()) return std::nullopt;
  fail(ErrorKind::checkpoint, fmt::format("no checkpoint in {} is intact, for the reasons above: restore one, or train "
                                          "again with another --train.output or --train.fresh",
                                          root));
}

std::optional<std::string> pointed_at(const std::string& root, const std::string& pointer) {
  std::error_code error;
  const fs::path target = fs::read_symlink(fs::path(root) / pointer, error);
  if (error) return std::nullopt;
  return target.filename().string();
}

std::string resolve_checkpoint(const std::string& given) {
  const std::string path = without_trailing_slash(given);
  if (!fs::is_directory(path))  // for example, a dangling link
    fail(ErrorKind::checkpoint, fmt::format("{} is not a checkpoint: {}", path,
                                            fs::exists(path) ? "it is not a folder" : "there is no such folder"));
  if (fs::exists(fs::path(path) / kManifestName) || step_of_folder(fs::path(path).filename().string())) {
    return fs::is_symlink(path) ? fs::canonical(path).string() : path;  // the link may change during reading
  }
  const std::string root = fs::is_directory(path + "/checkpoints") ? path + "/checkpoints" : path;
  std::optional<std::string> tried;  // a run that is training may change the link meanwhile
  std::string reason;
  for (auto best = pointed_at(root, "best"); best && best != tried; best = pointed_at(root, "best")) {
    reason = reason_against(root + "/" + *best, read_checkpoint_manifest);
    if (reason.empty()) return root + "/" + *best;
    tried = best;
  }
  if (tried) report_passed_over(root + "/" + *tried + " (the best)", reason);
  if (auto latest = find_latest_checkpoint(root)) return *latest;
  fail(ErrorKind::checkpoint,
       fmt::format("{} contains no checkpoint: give a step folder, a run's folder, or its checkpoints folder", path));
}

CheckpointLease lease_checkpoint(const std::string& path) {
  constexpr int kTries = 20;  // each fails only if the run removes the checkpoint at this very moment
  for (int left = kTries;; --left) {
    CheckpointLease lease{.folder = resolve_checkpoint(path), .manifest = FileDescriptor()};
    lease.manifest = open_manifest(lease.folder, O_RDONLY);
    const bool gone = !lease.manifest && errno == ENOENT;
    if (left == 1 || (!gone && !is_locked_by_another(lease.manifest, LOCK_SH) && has_manifest(lease.folder)))
      return lease;
  }
}

std::vector<CheckpointLease> lease_step_folders(const std::string& root) {
  std::vector<CheckpointLease> leases;
  for (const std::string& folder : step_folders(root)) {
    CheckpointLease lease{.folder = folder, .manifest = open_manifest(folder, O_RDONLY)};
    if (!is_locked_by_another(lease.manifest, LOCK_SH) && fs::is_directory(folder)) leases.push_back(std::move(lease));
  }
  return leases;
}

void point_to(const std::string& root, const std::string& pointer, const std::string& step_folder) {
  const std::string target = name_of_path(step_folder);
  std::error_code error;
  if (!step_of_folder(target) || !fs::is_directory(root + "/" + target, error))
    fail(ErrorKind::io, fmt::format("{}/{} cannot point to {}: there is no such step folder", root, pointer, target));
  const std::string temporary = root + "/" + temporary_name(target);
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (error) fail(ErrorKind::io, fmt::format("cannot create the link {}: {}", temporary, error.message()));
  rename_durably(temporary, root + "/" + pointer);
}

std::string newest_checkpoint_until(const std::string& root, int64_t step) {
  for (const std::string& folder : step_folders(root))
    if (step_of_checkpoint(folder) <= step && has_manifest(folder)) return folder;
  return "";
}

std::string newest_whole_checkpoint_until(const std::string& root, int64_t step) {
  for (const std::string& folder : step_folders(root)) {
    if (step_of_checkpoint(folder) > step) continue;
    const std::string reason = reason_against(folder, verify_checkpoint);
    if (reason.empty()) return folder;
    report_passed_over(folder, reason);
  }
  return "";
}

bool has_checkpoint(const std::string& root, int64_t step) {
  for (const std::string& folder : step_folders(root))
    if (step_of_checkpoint(folder) == step) return has_manifest(folder);
  return false;
}

void prune_checkpoints(const std::string& root, int64_t keep_last, int64_t keep_every, int64_t good_until,
                       const std::vector<int64_t>& needed) {
  require(keep_last >= 1, ErrorKind::usage, "train.keep_last must be at least 1");
  const std::set<std::string> pointed = targets_of_links(root);
  // Folders that cannot be read or are not valid checkpoints are neither counted nor removed.
  const std::string good = newest_checkpoint_until(root, good_until);
  std::string next_good;
  for (const std::string& folder : step_folders(root)) {
    if (good_until < 0 || step_of_checkpoint(folder) <= good_until) break;
    if (has_manifest(folder)) next_good = folder;
  }
  int64_t num_kept = 0;
  for (const std::string& folder : step_folders(root)) {
    if (fs::is_symlink(folder) || !has_manifest(folder)) continue;
    const bool for_good = keep_every > 0 && step_of_checkpoint(folder) % keep_every == 0;
    const bool may_be_needed = folder == good || folder == next_good || pointed.contains(name_of_path(folder)) ||
                               std::ranges::count(needed, step_of_checkpoint(folder)) > 0;
    if (++num_kept <= keep_last || for_good || may_be_needed) continue;
    const FileDescriptor manifest = open_manifest(folder, O_RDWR);
    if (!is_locked_by_another(manifest, LOCK_EX)) remove_checkpoint(folder);  // else a later save removes it
  }
}

void remove_checkpoints_after(const std::string& root, const std::string& step_folder) {
  const std::set<std::string> pointed = targets_of_links(root);
  for (const std::string& folder : step_folders(root))
    if (step_of_checkpoint(folder) > step_of_checkpoint(step_folder) && !fs::is_symlink(folder) &&
        !pointed.contains(name_of_path(folder)))
      remove_checkpoint(folder);
}

}  // namespace weft
