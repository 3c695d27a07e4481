// trainer/export/output_folder.cpp: decides whether a folder may be replaced, and renames it.
#include "trainer/export/output_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "data/atomic_file.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checked_file.h"

namespace weft {

namespace fs = std::filesystem;

namespace {

// The names of all files that exports of any format write.
constexpr const char* kNames[] = {
    "model.bin",
    "config.json",
    "shared_vocabulary.json",
    "source_vocabulary.json",
    "tokenizer.model",
    "target_vocabulary.json",
    "source.model",
    "target.model",
    "source.spm",
    "target.spm",
    "vocab.spm",
    "model.npz",
    "vocab.json",
    "target_vocab.json",
    "tokenizer_config.json",
    "generation_config.json",
    "decoder.yml",
    "special_tokens_map.json",
    "model.safetensors",
    "weft_transformer.py",
    "adapter_config.json",
    "adapter_model.safetensors",
};

// Returns an entry written neither by an export nor by Python (for weft_transformer.py), or "" if there is none.
std::string foreign_entry(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "__pycache__" && entry.symlink_status().type() == fs::file_type::directory) continue;
    const bool known = std::any_of(std::begin(kNames), std::end(kNames), [&](const char* k) { return name == k; });
    if (!known || entry.is_symlink() || !entry.is_regular_file()) return name;
  }
  return "";
}

void require_replaceable(const std::string& path, bool force) {
  const fs::file_status status = fs::symlink_status(path);  // throws if the name is too long or inaccessible
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() != fs::file_type::directory)
    fail(ErrorKind::usage, fmt::format("--output {} exists and is not a folder: use a different name", path));
  std::error_code error;
  if (fs::is_empty(path, error) && !error) return;
  if (error) fail(ErrorKind::io, fmt::format("cannot access {}: {}", path, error.message()));
  if (!force) fail(ErrorKind::usage, fmt::format("--output {} already exists: use a different name, or --force", path));
  if (const std::string foreign = foreign_entry(path); !foreign.empty())
    fail(ErrorKind::usage,
         fmt::format("--output {} contains {}, which is not from an export: use a different name", path, foreign));
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

OutputFolder::OutputFolder(const std::string& path, bool force)
    : path_(without_slash(path)), temporary_(temporary_name(path_)) {
  require_replaceable(path_, force);
  if (const std::string parent = fs::path(path_).parent_path().string(); !parent.empty()) parents_.make(parent);
  remove_left_behind(path_);
  lock_ = make_temporary_folder(temporary_);
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(temporary_, ignored);
}

std::string OutputFolder::file(const std::string& name) const { return temporary_ + "/" + name; }

void OutputFolder::write(const std::string& name, std::string_view content) const {
  write_digested(file(name), content);
}

void OutputFolder::copy(const std::string& from, const std::string& name) const { write(name, read_file(from)); }

std::map<std::string, uint64_t> OutputFolder::commit() {
  std::map<std::string, uint64_t> sizes;
  for (const fs::directory_entry& entry : fs::directory_iterator(temporary_))
    sizes[entry.path().filename().string()] = entry.file_size();
  sync_folder(temporary_);
  replace_folder(temporary_, path_);
  committed_ = true;
  parents_.keep();
  return sizes;
}

}  // namespace weft
