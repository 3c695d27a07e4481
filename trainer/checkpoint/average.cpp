// trainer/checkpoint/average.cpp: reads the same tensor of every checkpoint and writes the mean.
#include "trainer/checkpoint/average.h"

#include <map>
#include <nlohmann/json.hpp>

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint_draft.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/finite.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/version.h"

namespace weft {
namespace {

constexpr char kModelFile[] = "model.safetensors";

// Reads the weights of one checkpoint by parameter name, and verifies all bytes that it reads.
class SourceWeights {
 public:
  SourceWeights(const std::string& folder, StoredWeights which)
      : folder_(folder), manifest_(read_checkpoint_manifest(folder)) {
    verify_small_files(folder, manifest_);
    const FlatState stored = stored_weights(folder, which, {"model", "", Tensor()});
    std::vector<std::string> names;
    for (const auto& [name, digest] : manifest_.files) names.push_back(name);
    for (const std::string& name : files_of_kind(names, stored.kind))
      files_.emplace_back(folder + "/" + name, &manifest_.files.at(name));
    if (files_.empty()) fail(ErrorKind::checkpoint, fmt::format("{}: the manifest lists no {}", folder, kModelFile));
    for (const SafetensorsFile& file : files_)
      for (const auto& [name, entry] : file.entries()) {
        if (!name.starts_with(stored.prefix))
          fail(ErrorKind::checkpoint, fmt::format("{}: unexpected tensor '{}'", file.path(), printable(name)));
        places_[name.substr(stored.prefix.size())] = {&file, name};
        shapes_[name.substr(stored.prefix.size())] = entry.shape;
      }
  }
  SourceWeights(const SourceWeights&) = delete;
  SourceWeights(SourceWeights&&) = default;

  const std::string& folder() const { return folder_; }
  const CheckpointManifest& manifest() const { return manifest_; }
  const std::map<std::string, std::vector<int64_t>>& shapes() const { return shapes_; }
  bool is_tokenizer(const std::string& file) const { return file.ends_with(".model"); }

  void read(const std::string& name, float* values) const {
    const auto& [file, stored_name] = places_.at(name);
    file->read(stored_name, values);
    const std::string bad = describe_not_finite(values, shapes_.at(name));
    if (!bad.empty())
      fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}' contains {}", file->path(), stored_name, bad));
  }

  void require_same_model(const SourceWeights& other) const {
    const auto differ = [&](const std::string& what) {
      fail(ErrorKind::checkpoint, fmt::format("{} and {} contain different models: {}", folder_, other.folder_, what));
    };
    for (const auto& [name, shape] : shapes_) {
      const auto found = other.shapes_.find(name);
      if (found == other.shapes_.end()) differ(fmt::format("only the first contains tensor '{}'", printable(name)));
      if (found->second != shape)
        differ(fmt::format("the shapes of tensor '{}' are {} and {}", printable(name), str(shape), str(found->second)));
    }
    if (other.shapes_.size() > shapes_.size()) differ("the second contains more tensors");
    for (const auto& [name, digest] : manifest_.files) {
      const auto found = other.manifest_.files.find(name);
      if (is_tokenizer(name) && (found == other.manifest_.files.end() || found->second.sha256 != digest.sha256))
        differ(fmt::format("their files {} differ", name));
    }
  }

 private:
  struct Place {
    const SafetensorsFile* file;
    std::string name;
  };

  std::string folder_;
  CheckpointManifest manifest_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::vector<int64_t>> shapes_;
};

int64_t numel_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return count;
}

FileDigest write_means(const std::vector<SourceWeights>& sources, const std::string& path,
                       const std::function<void(int64_t, int64_t)>& on_progress) {
  const auto& shapes = sources.front().shapes();
  int64_t done = 0;
  SafetensorsWriter writer(path, shapes);
  std::vector<float> values;
  std::vector<double> sums;
  for (const auto& [name, shape] : shapes) {
    const auto count = static_cast<size_t>(numel_of(shape));
    values.resize(count), sums.assign(count, 0.0);
    for (const SourceWeights& source : sources) {
      source.read(name, values.data());
      for (size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(values[i]);
    }
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(sums[i] / static_cast<double>(sources.size()));
    writer.write(values.data(), static_cast<int64_t>(count));
    if (on_progress) on_progress(++done, std::ssize(shapes));
  }
  return writer.finish();
}

}  // namespace

std::string average_checkpoints(const std::vector<std::string>& folders, StoredWeights which, const std::string& root,
                                const nlohmann::json& state, const std::function<void(int64_t, int64_t)>& on_progress) {
  require(!folders.empty(), ErrorKind::internal, "there are no checkpoints to average");
  std::vector<SourceWeights> sources;
  for (const std::string& folder : folders) {
    sources.emplace_back(folder, which);
    sources.front().require_same_model(sources.back());
  }
  const SourceWeights& last = sources.back();
  MadeFolders made;
  made.make(root);
  CheckpointDraft draft(root, {.step = last.manifest().step, .weft_version = kVersion});
  CheckpointManifest& manifest = draft.manifest;
  manifest.files[kModelFile] = write_means(sources, draft.folder() + "/" + kModelFile, on_progress);
  for (const auto& [name, shape] : last.shapes()) manifest.tensors[name] = {kModelFile, "F32", shape};
  for (const auto& [name, digest] : last.manifest().files)
    if (name == kConfigFile || last.is_tokenizer(name))
      manifest.files[name] =
          write_digested(draft.folder() + "/" + name, CheckedReader(last.folder() + "/" + name).read_all());
  manifest.files[kStateFile] = write_digested(draft.folder() + "/" + kStateFile, state.dump(2) + "\n");
  draft.commit();
  made.keep();
  return root + "/" + step_folder_name(manifest.step);
}

}  // namespace weft
