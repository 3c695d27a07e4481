// trainer/checkpoint/checkpoint.cpp: verifies a checkpoint's files and loads this rank's slices of its tensors.
#include "trainer/checkpoint/checkpoint.h"

#include <map>
#include <nlohmann/json.hpp>

#include "data/strict_json.h"
#include "tensor/error.h"
#include "tensor/transfer.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/finite.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft {

using nlohmann::json;

namespace {

// Finds the tensors of one kind (file_layout.h) in the files of a checkpoint.
class TensorFiles {
 public:
  TensorFiles(const std::string& folder, const CheckpointManifest& manifest, const std::string& kind, bool verified) {
    std::vector<std::string> names;
    for (const auto& [name, digest] : manifest.files) names.push_back(name);
    for (const std::string& name : files_of_kind(names, kind))
      files_.emplace_back(folder + "/" + name, verified ? nullptr : &manifest.files.at(name));
    if (files_.empty())
      fail(ErrorKind::checkpoint, fmt::format("{}: the manifest lists no {}.safetensors", folder, kind));
  }

  // Throws an Error unless the files contain exactly the `wanted` tensors.
  void require_tensors(const TensorSources& wanted) const {
    for (const SafetensorsFile& file : files_)
      for (const auto& [name, entry] : file.entries())
        if (!wanted.contains(name)) refuse(file, name, "is not in this model");
    for (const auto& [name, source] : wanted) {
      const SafetensorsFile& file = file_of(name);
      const SafetensorsEntry& entry = file.entries().at(name);
      const std::vector<int64_t> dims = dims_of(source.param->spec.shape);
      if (entry.shape != dims)
        refuse(file, name, fmt::format("has shape {}, but the model needs {}", str(entry.shape), str(dims)));
      if (entry.dtype != "F32" && entry.int8_row == 0)
        refuse(file, name, fmt::format("has dtype {}, but must be F32, or I8 with scales", entry.dtype));
    }
  }

  // Reads the global values of a tensor. Throws an Error unless all are finite.
  void read(const std::string& name, const TensorSource& source, float* global) const {
    const SafetensorsFile& file = file_of(name);
    file.read(name, global);
    const std::string bad = describe_not_finite(global, dims_of(source.param->spec.shape));
    if (!bad.empty())
      fail(ErrorKind::checkpoint,
           fmt::format("{}: tensor '{}' contains {}; load an older checkpoint", file.path(), name, bad));
  }

 private:
  const SafetensorsFile& file_of(const std::string& tensor) const {
    for (const SafetensorsFile& file : files_)
      if (file.entries().contains(tensor)) return file;
    refuse(files_.front(), tensor, "is missing");
  }

  [[noreturn]] static void refuse(const SafetensorsFile& file, const std::string& name, const std::string& why) {
    fail(ErrorKind::checkpoint,
         fmt::format("{}: tensor '{}' {}, so the checkpoint is for a different model; compare [model] in its {}",
                     file.path(), printable(name), why, kConfigFile));
  }

  std::vector<SafetensorsFile> files_;
};

// Copies this rank's slice of a global tensor to its place in the buffer.
void put_slice(Context& ctx, const TensorSource& source, const float* global) {
  if (ctx.device() == Device::cpu) return slice_from_global(*source.param, global, source.local.ptr<float>());
  std::vector<float> local(static_cast<size_t>(source.local.numel()));
  slice_from_global(*source.param, global, local.data());
  upload(ctx, local.data(), source.local);
}

// Verifies all small files, then reads state.json.
json read_state(const std::string& folder, const CheckpointManifest& manifest) {
  verify_small_files(folder, manifest);
  if (!manifest.files.contains(kStateFile))
    fail(ErrorKind::checkpoint, fmt::format("{}: the manifest does not list {}", folder, kStateFile));
  const std::string path = folder + "/" + kStateFile;
  json state = parse_strict_json(CheckedReader(path).read_all(), path, ErrorKind::checkpoint);
  if (const auto found = state.find("step"); found != state.end() && *found != manifest.step)
    fail(ErrorKind::checkpoint,
         fmt::format("{}: its step differs from step {} in the manifest; load an older checkpoint", path,
                     manifest.step));
  return state;
}

}  // namespace

std::string save_checkpoint(Context& ctx, const std::string& root, const Mesh& mesh,
                            const CheckpointContents& contents) {
  MadeFolders made;
  all_or_none(mesh.world(), [&] {
    if (mesh.world().is_main_rank()) made.make(root);
  });
  CheckpointSaver saver(mesh);
  saver.start(ctx, root, contents);
  std::string folder = saver.finish();
  made.keep();
  return folder;
}

namespace {

// Returns the content of state.json on the main rank, and null on the others.
json load_files(Context& ctx, const std::string& folder, const ParamStore& params,
                const std::vector<FlatState>& buffers, Communicator& readers, bool verified) {
  const FileLayout layout = file_layout(ctx, params, buffers);
  std::map<std::string, TensorFiles> files;  // on the reading rank
  json state;
  all_or_none(readers, [&] {
    if (!readers.is_main_rank()) return;
    const CheckpointManifest manifest = read_checkpoint_manifest(folder);
    state = read_state(folder, manifest);
    for (const auto& [kind, wanted] : layout)
      files.try_emplace(kind, folder, manifest, kind, verified).first->second.require_tensors(wanted);
  });

  std::vector<float> global;
  const FlatState* unfinished = nullptr;
  const auto take = [](const FlatState& state) {
    if (state.take) state.take();
  };
  std::exception_ptr error;  // rethrown at the end, because the other ranks wait for the broadcasts
  for (const auto& [kind, wanted] : layout)
    for (const auto& [name, source] : wanted) {
      const int64_t count = source.param->spec.shape.numel();
      const bool in_place = ctx.device() == Device::cpu && count == source.local.numel();  // a rank's slice is all
      if (!in_place) global.resize(static_cast<size_t>(count));
      float* values = in_place ? source.local.ptr<float>() : global.data();
      // Sharded states share the memory of `flat`, so a state is taken before the next one is read.
      if (unfinished != nullptr && unfinished != source.state) take(*unfinished);
      unfinished = source.state;
      try {
        if (readers.is_main_rank() && !error) files.at(kind).read(name, source, values);
      } catch (...) {
        error = std::current_exception();
      }
      readers.broadcast(Tensor(values, {count}), /*root=*/0);
      if (!in_place) put_slice(ctx, source, global.data());
    }
  if (unfinished != nullptr) take(*unfinished);
  agree(readers, error);
  return state;
}

}  // namespace

json read_checkpoint_state(const std::string& folder) { return read_state(folder, read_checkpoint_manifest(folder)); }

json load_checkpoint(Context& ctx, const std::string& folder, const ParamStore& params,
                     const std::vector<FlatState>& buffers) {
  const auto alone = make_single_communicator();
  return load_files(ctx, folder, params, buffers, *alone, /*verified=*/false);
}

bool has_average(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& [name, digest] : read_checkpoint_manifest(folder).files) names.push_back(name);
  return !files_of_kind(names, kAverageKind).empty();
}

FlatState stored_weights(const std::string& folder, StoredWeights which, const FlatState& values) {
  FlatState stored = values;
  if (which == StoredWeights::evaluation && has_average(folder))
    stored.kind = kAverageKind, stored.prefix = kAveragePrefix;
  return stored;
}

void load_tensors(Context& ctx, const std::string& folder, const ParamStore& params,
                  const std::vector<FlatState>& buffers, Communicator& readers, bool verified) {
  load_files(ctx, folder, params, buffers, readers, verified);
}

}  // namespace weft
