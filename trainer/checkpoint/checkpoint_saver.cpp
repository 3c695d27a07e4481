// trainer/checkpoint/checkpoint_saver.cpp: runs the two phases of a save: all ranks write, then the main rank commits.
#include "trainer/checkpoint/checkpoint_saver.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tensor/error.h"
#include "trainer/checkpoint/rank_files.h"
#include "trainer/version.h"

namespace weft {

using nlohmann::json;

namespace {

void add_small_files(RankFiles& files, const json& state, const CheckpointExtras& extras) {
  const std::string text = state.dump(2) + "\n";
  if (json::parse(text) != state)  // for example, because of a NaN
    fail(ErrorKind::internal, "the trainer's state changes when it is written to JSON and read back");
  files.add_text(kStateFile, text);
  files.add_text(kConfigFile, extras.config);
  for (const auto& [name, contents] : extras.files) {
    if (!is_plain_file_name(name) || name == kManifestName || name == kStateFile || name == kConfigFile)
      fail(ErrorKind::usage, fmt::format("'{}' is not a plain file name or is already in the checkpoint", name));
    files.add_text(name, contents);
  }
}

CheckpointManifest manifest_of(int64_t step, const std::vector<CheckpointFile>& files, const Mesh& mesh) {
  CheckpointManifest manifest{.step = step, .weft_version = kVersion, .dp = mesh.dp().size(), .tp = mesh.tp().size()};
  for (const CheckpointFile& file : files) {
    if (file.name.find("-of-") != std::string::npos)
      manifest.format_version = std::max<int64_t>(manifest.format_version, 2);
    if (file.name.starts_with(kAverageKind)) manifest.format_version = std::max<int64_t>(manifest.format_version, 3);
    for (const auto& [name, source] : file.tensors) {
      if (source.param->spec.adapter) manifest.format_version = 4;
      manifest.tensors[name] = {file.name, "F32", dims_of(source.param->spec.shape)};
    }
  }
  return manifest;
}

struct SetAtEnd {  // sets the flag even after an exception, because the optimizer waits for the flag
  std::atomic<bool>& flag;
  ~SetAtEnd() {
    flag = true;
    flag.notify_all();
  }
};

void yield_to_computation() { setpriority(PRIO_PROCESS, 0, 10); }  // Linux: affects only the calling thread

template <typename T>
bool has_ended(const std::future<T>& phase) {
  return !phase.valid() || phase.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

json to_json(const std::map<std::string, FileDigest>& digests) {
  json j = json::object();
  for (const auto& [name, digest] : digests) j[name] = {digest.size, digest.sha256};
  return j;
}

}  // namespace

void CheckpointSaver::start(Context& ctx, const std::string& root, const CheckpointContents& contents,
                            std::function<void(const std::string&)> after_commit, bool yields) {
  require(!in_progress(), ErrorKind::internal, "a checkpoint cannot be saved during another save");
  frames_ = ErrorFrame::frames();
  Communicator& world = mesh_.world();
  const std::vector<CheckpointFile> files =
      divide_into_files(file_layout(ctx, contents.params, contents.buffers), world.size(), smallest_share_);

  draft_.reset();
  std::vector<CheckpointFile> group_files;  // files that ranks of this tp group write; the group gathers them together
  for (const CheckpointFile& file : files)
    if (file.writer / mesh_.tp().size() == mesh_.dp().rank()) group_files.push_back(file);
  auto own = std::make_shared<RankFiles>(ctx, mesh_.tp(), world.rank(), group_files, contents.buffers);
  all_or_none(world, [&] {
    if (!world.is_main_rank()) return;
    add_small_files(*own, contents.state, contents.extras);
    draft_.emplace(root, manifest_of(contents.step, files, mesh_));
  });
  const std::string temporary = world.broadcast_string(draft_ ? draft_->folder() : "", /*root=*/0);

  folder_ = root + "/" + step_folder_name(contents.step);
  after_commit_ = std::move(after_commit);
  copied_ = given_up_ = false;
  written_ = std::async(std::launch::async, [this, own, temporary, yields] {
    ErrorFrame::frames() = frames_;
    {
      const SetAtEnd copied{copied_};
      own->copy();
    }
    if (yields) yield_to_computation();
    return own->write(temporary, given_up_);
  });
  phase_ = Phase::writing;
}

bool CheckpointSaver::is_ready() const { return in_progress() && has_ended(written_) && has_ended(committed_); }

std::optional<std::string> CheckpointSaver::advance() {
  Communicator& world = mesh_.world();
  const Phase ended = std::exchange(phase_, Phase::none);
  try {
    if (ended == Phase::writing) {
      const Digests own = all_or_none(world, [&] { return written_.get(); });
      const std::vector<std::string> all = world.all_gather_strings(to_json(own).dump());
      if (world.is_main_rank()) commit(all);
      phase_ = Phase::committing;
      return std::nullopt;
    }
    all_or_none(world, [&] {
      if (world.is_main_rank()) committed_.get();
    });
  } catch (...) {
    draft_.reset();
    throw;
  }
  return folder_;
}

void CheckpointSaver::commit(const std::vector<std::string>& digests_of_ranks) {
  for (const std::string& text : digests_of_ranks) {
    const json digests = json::parse(text);
    for (const auto& [name, digest] : digests.items())
      draft_->manifest.files[name] = {digest[0].get<uint64_t>(), digest[1].get<std::string>()};
  }
  committed_ = std::async(std::launch::async, [this] {
    ErrorFrame::frames() = frames_;
    draft_->commit();
    if (after_commit_) after_commit_(folder_);
  });
}

std::string CheckpointSaver::finish() {
  std::optional<std::string> folder;
  while (!folder) folder = advance();
  return *folder;
}

}  // namespace weft
