// launch/commands/verify.cpp: `weft verify PATH...` checks corpora, checkpoints and runs for damage.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "launch/commands.h"
#include "launch/options/options.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/report/event_log.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct VerifiedPart {
  std::string path;
  std::function<void()> check;  // throws an Error if the part is damaged
};

// Reads every pair of a shard. This checks the digest, the metadata of HDF5, and that all ids are in the vocabularies.
void read_shard(const std::string& corpus_folder, int64_t first, int64_t count) {
  constexpr int64_t kPairsAtOnce = 1000;
  Corpus corpus(corpus_folder);
  std::vector<PairIds> pairs;
  for (int64_t variant = 0; variant < corpus.manifest().num_variants(); ++variant)
    for (int64_t done = 0; done < count; done += kPairsAtOnce)
      corpus.read_pairs(first + done, std::min(kPairsAtOnce, count - done), pairs, variant);
}

std::vector<VerifiedPart> parts_of_corpus(const std::string& folder) {
  const Manifest manifest = read_manifest(folder);
  std::vector<VerifiedPart> parts{{folder + " (tokenizers)", [=] { read_tokenizers(folder, manifest); }}};
  if (!manifest.references_sha256.empty())
    parts.push_back({folder + "/" + kReferencesFile, [=] { read_references(folder, manifest); }});
  int64_t first = 0;
  for (const ShardEntry& shard : manifest.shards) {
    parts.push_back({folder + "/" + shard.file, [=, n = shard.num_pairs] { read_shard(folder, first, n); }});
    first += shard.num_pairs;
  }
  return parts;
}

VerifiedPart part_of(CheckpointLease lease) {
  const auto held = std::make_shared<CheckpointLease>(std::move(lease));
  return {held->folder, [held] {
            verify_checkpoint(held->folder);
            base_of(held->folder);  // throws an Error if the checkpoint contains adapters of another model
          }};
}

std::vector<VerifiedPart> parts_to_verify(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();  // so that the path ends with the folder's name
  std::vector<VerifiedPart> parts;
  if (fs::exists(path + "/" + kManifestFile)) {
    parts = parts_of_corpus(path);
  } else if (fs::exists(path + "/" + kManifestName) || step_of_folder(fs::path(path).filename().string())) {
    return {part_of(lease_checkpoint(path))};
  }
  const auto add_checkpoints = [&](const std::string& root) {
    if (!fs::is_directory(root)) return;
    for (CheckpointLease& lease : lease_step_folders(root)) parts.push_back(part_of(std::move(lease)));
  };
  add_checkpoints(path + "/checkpoints");
  if (parts.empty()) add_checkpoints(path);
  if (!parts.empty())
    add_checkpoints(base_root(fs::is_directory(path + "/checkpoints") ? path + "/checkpoints" : path));
  if (const std::string log = path + "/log.jsonl"; !parts.empty() && fs::exists(log))
    parts.push_back({log, [=] { for_each_record(log, [](const nlohmann::json&) {}); }});
  if (parts.empty())
    fail(ErrorKind::usage, fmt::format("{} is not a packed corpus, a checkpoint or a run with checkpoints", path));
  return parts;
}

// Returns 0, or the exit code of the Error that reports damage.
int verify_part(const VerifiedPart& part) {
  try {
    part.check();
    fmt::print("ok       {}\n", part.path);
    return 0;
  } catch (const Error& e) {
    fmt::print("DAMAGED  {}: {}\n", part.path, e.what());
    return e.exit_code();
  }
}

}  // namespace

int run_verify(const CommandContext& context) {
  std::vector<std::string> paths;
  Options options(
      "verify PATH [PATH ...]\n\n"
      "Reads every file completely and compares its SHA-256 with the one recorded when the file was written.\n\n"
      "  weft verify packed/train runs/mine");
  options.positional("PATH", paths, "folder of a packed corpus, a checkpoint or a run");
  if (!options.parse(context.args)) return 0;
  if (paths.empty()) fail(ErrorKind::usage, "PATH is missing; usage: weft verify PATH");
  int status = 0;
  for (const std::string& path : paths)
    for (const VerifiedPart& part : parts_to_verify(path)) status = std::max(status, verify_part(part));
  return status;
}

}  // namespace weft
