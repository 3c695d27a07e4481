// trainer/checkpoint/checkpoint_draft.cpp: builds a checkpoint's folder under a temporary name, then renames it.
#include "trainer/checkpoint/checkpoint_draft.h"

#include <unistd.h>

#include <filesystem>

#include "data/create_folder.h"
#include "tensor/error.h"

namespace weft {

namespace fs = std::filesystem;

namespace {

// Renames a damaged folder of this step, so that a run that resumed from an older checkpoint can save this step.
void move_damaged_aside(const std::string& folder) {
  std::error_code error;
  if (fs::symlink_status(folder, error).type() == fs::file_type::not_found) return;
  if (error) fail(ErrorKind::io, fmt::format("cannot access {}: {}", folder, error.message()));
  try {
    verify_checkpoint(folder);
  } catch (const Error& e) {
    std::string aside = fmt::format("{}.damaged-{}", folder, getpid());
    while (fs::exists(aside, error)) aside += "x";
    print_note("{} is damaged ({}); renaming it to {}\n", folder, e.what(), aside);
    rename_durably(folder, aside);
    return;
  }
  fail(ErrorKind::io, fmt::format("{} already exists and is intact: checkpoints are never overwritten", folder));
}

}  // namespace

void MadeFolders::make(const std::string& path) {
  std::error_code error;
  for (fs::path p = path; !p.empty() && !fs::exists(p, error); p = p.parent_path()) made_.push_back(p.string());
  create_folder(path);
}

MadeFolders::~MadeFolders() {
  for (const std::string& folder : made_) rmdir(folder.c_str());  // fails for links and for folders that are not empty
}

CheckpointDraft::CheckpointDraft(const std::string& root, CheckpointManifest m)
    : manifest(std::move(m)), final_(root + "/" + step_folder_name(manifest.step)), temporary_(temporary_name(final_)) {
  std::error_code error;
  fs::create_directory(root, error);  // an error also prevents the next one
  remove_left_behind_in(root, [](const std::string& name) { return step_of_folder(name).has_value(); });
  move_damaged_aside(final_);
  lock_ = make_temporary_folder(temporary_);
}

CheckpointDraft::~CheckpointDraft() {
  std::error_code ignored;  // the next save tries again
  if (!committed_) fs::remove_all(temporary_, ignored);
}

void CheckpointDraft::commit() {
  write_checkpoint_manifest(temporary_, manifest);
  sync_folder(temporary_);
  rename_durably(temporary_, final_);
  committed_ = true;
}

}  // namespace weft
