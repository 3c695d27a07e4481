// data/packing/pack_folder.cpp: creates, locks, moves and removes files and folders of a corpus.
#include "data/packing/pack_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "data/create_folder.h"
#include "tensor/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorking = ".packing";

std::set<std::string> files_of(const Manifest& manifest) {
  std::set<std::string> files = {manifest.source_tokenizer, manifest.target_tokenizer};
  if (!manifest.references_sha256.empty()) files.insert(kReferencesFile);
  for (const ShardEntry& shard : manifest.shards) files.insert(shard.file);
  return files;
}

// A folder without a manifest may contain a user's tokenizer or checkpoint, which packing would replace. If the folder
// contains .packing, a killed pack left these files.
void require_nothing_to_lose(const fs::path& folder, ExistingCorpus existing) {
  if (fs::exists(folder / "MANIFEST.json"))
    fail(ErrorKind::usage, fmt::format("{} is a checkpoint: use a different --output", folder.string()));
  if (existing != ExistingCorpus::refuse || !fs::is_directory(folder) || fs::exists(folder / kWorking)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "tokenizer.model" || name == "source.model" || name == "target.model" || name == kReferencesFile ||
        (name.starts_with("shard-") && name.ends_with(".h5")))
      fail(ErrorKind::usage,
           fmt::format("{} contains {}, which packing might replace: use a different --output, or --overwrite",
                       folder.string(), name));
  }
}

}  // namespace

PackFolder::PackFolder(std::string folder, ExistingCorpus existing)
    : folder_(std::move(folder)), working_((fs::path(folder_) / kWorking).string()) {
  const bool exists = fs::exists(fs::path(folder_) / kManifestFile);
  if (exists && existing == ExistingCorpus::refuse)
    fail(ErrorKind::usage,
         fmt::format("{} already contains a corpus: use a different --output, --append or --overwrite", folder_));
  if (!exists && existing == ExistingCorpus::extend)
    fail(ErrorKind::usage, fmt::format("{} contains no packed corpus: check --output, or leave out --append", folder_));
  if (!exists) require_nothing_to_lose(folder_, existing);
  const bool is_new = !fs::exists(folder_);
  create_folder(working_);
  lock_ = FileDescriptor(open(working_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock_) fail(ErrorKind::io, fmt::format("cannot open folder {}: {}", working_, std::strerror(errno)));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail(ErrorKind::usage, fmt::format("another `weft pack` is writing to {}: use a different --output", folder_));
  for (const auto& left : fs::directory_iterator(working_)) fs::remove_all(left.path());
  created_ = is_new;
}

PackFolder::~PackFolder() {
  std::error_code ignored;
  fs::remove_all(working_, ignored);
  if (committed_) return;
  for (const std::string& file : placed_) fs::remove(fs::path(folder_) / file, ignored);
  if (created_) fs::remove(folder_, ignored);  // removes it only if it is empty
}

void PackFolder::remove_old_corpus() const {
  if (!fs::exists(fs::path(folder_) / kManifestFile)) return;
  std::set<std::string> files;
  try {
    files = files_of(read_manifest(folder_));
  } catch (const Error&) {
    // The entries of a damaged manifest cannot be trusted, so only the manifest itself is removed.
  }
  fs::remove(fs::path(folder_) / kManifestFile);
  sync_folder(folder_);  // from here on, the folder contains no corpus, instead of an incomplete one
  for (const std::string& file : files) fs::remove(fs::path(folder_) / file);
}

void PackFolder::commit(const Manifest& manifest, const Creation& creation) {
  remove_old_corpus();
  for (const std::string& file : files_of(manifest)) place(file);
  write_manifest(folder_, manifest, creation);
  committed_ = true;
}

void PackFolder::append(const Manifest& manifest, size_t first, const Creation& creation) {
  std::set<std::string> unused = files_of(read_manifest(folder_));
  for (const std::string& file : files_of(manifest)) unused.erase(file);
  for (size_t i = first; i < manifest.shards.size(); ++i) place(manifest.shards[i].file);
  extend_manifest(folder_, manifest, creation);
  committed_ = true;
  for (const std::string& file : unused) fs::remove(fs::path(folder_) / file);
}

void PackFolder::place(const std::string& file) {
  placed_.push_back(file);
  rename_durably(working(file), (fs::path(folder_) / file).string());
}

}  // namespace weft
