// trainer/checkpoint/stored_model.cpp: finds a checkpoint's tensors and its base, and adds adapters to weights.
#include "trainer/checkpoint/stored_model.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "tensor/error.h"
#include "trainer/checkpoint/finite.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirst = ".lora_a";

int64_t numel_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return count;
}

std::optional<AdapterState> adapter_state_of(const std::string& folder) try {
  const nlohmann::json state = read_checkpoint_state(folder);
  const auto found = state.find(kAdaptersKey);
  if (found == state.end()) return std::nullopt;
  return AdapterState{found->at("base").get<std::string>(), found->at("scale").get<double>()};
} catch (const nlohmann::json::exception& e) {
  fail(ErrorKind::checkpoint, fmt::format("{}/{}: {}", folder, kStateFile, e.what()));
}

std::vector<int64_t> without_first(const std::vector<int64_t>& shape) {
  return {shape.begin() + (shape.empty() ? 0 : 1), shape.end()};
}

// True if a is [r, in...] and b is [out..., r], where the weight or its part is [out..., in...].
bool fits(const std::vector<int64_t>& weight, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  if (a.size() < 2 || b.size() < 2 || a.front() < 1 || a.front() != b.back()) return false;
  std::vector<int64_t> whole(b.begin(), b.end() - 1);
  whole.insert(whole.end(), a.begin() + 1, a.end());
  return whole == weight;
}

}  // namespace

std::string base_root(const std::string& checkpoints) { return checkpoints + "/base"; }

std::string base_of(const std::string& checkpoint) {
  const auto adapters = adapter_state_of(checkpoint);
  if (!adapters) return "";
  fs::path folder = fs::absolute(checkpoint).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // the path ended with a slash
  const std::string root = base_root(folder.parent_path().string());
  const std::vector<std::string> folders = fs::is_directory(root) ? step_folders(root) : std::vector<std::string>();
  if (folders.empty())
    fail(ErrorKind::checkpoint,
         fmt::format("{} contains only adapters, and the model that they adapt is not in {}: keep "
                     "both in one run's folder, or merge them with `weft average`",
                     checkpoint, root));
  const auto files = read_checkpoint_manifest(folders.front()).files;
  const auto found = files.find(kModelFile);
  if (found == files.end() || found->second.sha256 != adapters->base || adapter_state_of(folders.front()))
    fail(ErrorKind::checkpoint,
         fmt::format("{} is not the model that the adapters in {} adapt", folders.front(), checkpoint));
  return folders.front();
}

StoredModel::StoredModel(const std::string& folder, StoredWeights which)
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
  if (const std::string base = base_of(folder); !base.empty()) {
    base_ = std::make_unique<StoredModel>(base, StoredWeights::training);
    scale_ = adapter_state_of(folder)->scale;
    find_adapters();
  }
}

// The adapter of a whole weight X.weight is named X, and that of a part, such as the queries of X = Y.qkv, X.q.
void StoredModel::find_adapters() {
  size_t found = 0;
  for (const auto& [tensor, shape] : shapes_) {
    if (!tensor.ends_with(kFirst)) continue;
    const std::string name = tensor.substr(0, tensor.size() - kFirst.size());
    const size_t dot = std::min(name.rfind('.'), name.size() - 1);
    const bool is_whole = base_->shapes().contains(name + ".weight");
    const std::string layer = is_whole ? name : name.substr(0, dot), part = name.substr(dot + 1);
    const std::string parts = layer.substr(layer.rfind('.') + 1);  // "qkv"
    const size_t index = is_whole ? 0 : part.size() == 1 ? parts.find(part) : std::string::npos;
    const auto weight = base_->shapes().find(layer + ".weight");
    const auto second = shapes_.find(name + ".lora_b");
    if (weight == base_->shapes().end() || index == std::string::npos || second == shapes_.end() ||
        !fits(is_whole ? weight->second : without_first(weight->second), shape, second->second))
      fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}' of shape {} adapts no weight of {}", folder_,
                                              printable(tensor), str(shape), base_->folder()));
    const int64_t count = is_whole ? 1 : std::ssize(parts);
    adapters_[layer + ".weight"].push_back({name, static_cast<int64_t>(index), count});
    found += 2;
  }
  if (found == 0 || found != shapes_.size())
    fail(ErrorKind::checkpoint, fmt::format("{} contains other tensors than adapters", folder_));
}

std::vector<std::string> StoredModel::adapted() const {
  std::vector<std::string> names;
  for (const auto& [name, adapters] : adapters_) names.push_back(name);
  return names;
}

void StoredModel::read_stored(const std::string& name, float* values) const {
  const auto& [file, stored_name] = places_.at(name);
  file->read(stored_name, values);
  const std::string bad = describe_not_finite(values, shapes_.at(name));
  if (!bad.empty())
    fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}' contains {}", file->path(), stored_name, bad));
}

std::vector<float> StoredModel::stored(const std::string& name) const {
  std::vector<float> values(static_cast<size_t>(numel_of(shapes_.at(name))));
  read_stored(name, values.data());
  return values;
}

int64_t StoredModel::numel(const std::string& name) const { return numel_of(shapes().at(name)); }

void StoredModel::read(const std::string& name, float* values) const {
  if (!base_) return read_stored(name, values);
  base_->read(name, values);
  if (const auto found = adapters_.find(name); found != adapters_.end())
    for (const Adapter& adapter : found->second) add(adapter, numel(name), values);
}

void StoredModel::read(const std::string& name, int64_t first, int64_t count, float* values) const {
  if (base_) return base_->read(name, first, count, values);
  const auto& [file, stored_name] = places_.at(name);
  file->read(stored_name, first, count, values);
  if (!describe_not_finite(values, {count}).empty()) stored(name);  // throws an Error that names the place
}

// W += scale * B A, for the rows of W [parts * out, in] that the adapter changes. Each sum is in double.
void StoredModel::add(const Adapter& adapter, int64_t count, float* values) const {
  const std::vector<float> a = stored(adapter.name + ".lora_a"), b = stored(adapter.name + ".lora_b");
  const auto rank = static_cast<size_t>(shapes_.at(adapter.name + ".lora_a").front()), in = a.size() / rank;
  float* rows = values + count / adapter.parts * adapter.part;
  std::vector<double> row(in);
  for (size_t o = 0; o < b.size() / rank; ++o, rows += in) {
    row.assign(in, 0);
    for (size_t k = 0; k < rank; ++k)
      for (size_t i = 0; i < in; ++i) row[i] += static_cast<double>(b[o * rank + k]) * a[k * in + i];
    for (size_t i = 0; i < in; ++i) rows[i] = static_cast<float>(rows[i] + scale_ * row[i]);
  }
}

void StoredModel::require_same_model(const StoredModel& other) const {
  const auto differ = [&](const std::string& what) {
    fail(ErrorKind::checkpoint, fmt::format("{} and {} contain different models: {}", folder_, other.folder_, what));
  };
  for (const auto& [name, shape] : shapes()) {
    const auto found = other.shapes().find(name);
    if (found == other.shapes().end()) differ(fmt::format("only the first contains tensor '{}'", printable(name)));
    if (found->second != shape)
      differ(fmt::format("the shapes of tensor '{}' are {} and {}", printable(name), str(shape), str(found->second)));
  }
  if (other.shapes().size() > shapes().size()) differ("the second contains more tensors");
  for (const auto& [name, digest] : manifest_.files) {
    const auto found = other.manifest_.files.find(name);
    if (is_tokenizer(name) && (found == other.manifest_.files.end() || found->second.sha256 != digest.sha256))
      differ(fmt::format("their files {} differ", name));
  }
}

}  // namespace weft
