// trainer/checkpoint/average.cpp: reads the same tensor of every checkpoint and writes the mean.
#include "trainer/checkpoint/average.h"

#include <nlohmann/json.hpp>

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint_draft.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/version.h"

namespace weft {
namespace {

int64_t numel_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return count;
}

FileDigest write_means(const std::vector<StoredModel>& sources, const std::string& path,
                       const std::function<void(int64_t, int64_t)>& on_progress) {
  const auto& shapes = sources.front().shapes();
  int64_t done = 0;
  SafetensorsWriter writer(path, shapes);
  std::vector<float> values;
  std::vector<double> sums;
  for (const auto& [name, shape] : shapes) {
    const auto count = static_cast<size_t>(numel_of(shape));
    values.resize(count), sums.assign(count, 0.0);
    for (const StoredModel& source : sources) {
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
                                const AverageTexts& texts, const std::function<void(int64_t, int64_t)>& on_progress) {
  require(!folders.empty(), ErrorKind::internal, "there are no checkpoints to average");
  std::vector<StoredModel> sources;
  for (const std::string& folder : folders) {
    sources.emplace_back(folder, which);
    sources.front().require_same_model(sources.back());
  }
  const StoredModel& last = sources.back();
  MadeFolders made;
  made.make(root);
  CheckpointDraft draft(root, {.step = last.manifest().step, .weft_version = kVersion});
  CheckpointManifest& manifest = draft.manifest;
  manifest.files[kModelFile] = write_means(sources, draft.folder() + "/" + kModelFile, on_progress);
  for (const auto& [name, shape] : last.shapes()) manifest.tensors[name] = {kModelFile, "F32", shape};
  for (const auto& [name, digest] : last.manifest().files)
    if (StoredModel::is_tokenizer(name))
      manifest.files[name] =
          write_digested(draft.folder() + "/" + name, CheckedReader(last.folder() + "/" + name).read_all());
  manifest.files[kConfigFile] = write_digested(draft.folder() + "/" + kConfigFile, texts.config);
  manifest.files[kStateFile] = write_digested(draft.folder() + "/" + kStateFile, texts.state.dump(2) + "\n");
  draft.commit();
  made.keep();
  return root + "/" + step_folder_name(manifest.step);
}

}  // namespace weft
