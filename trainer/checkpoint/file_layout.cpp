// trainer/checkpoint/file_layout.cpp: names tensors and divides them among files and ranks.
#include "trainer/checkpoint/file_layout.h"

#include <algorithm>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr char kSuffix[] = ".safetensors";
constexpr char kParameters[] = "model";

int64_t stored_bytes(const TensorSource& source) {
  return source.param->spec.shape.numel() * static_cast<int64_t>(sizeof(float));
}

int64_t stored_bytes(const TensorSources& tensors) {
  int64_t bytes = 0;
  for (const auto& [name, source] : tensors) bytes += stored_bytes(source);
  return bytes;
}

struct Writer {
  int rank = 0;
  int64_t load = 0;  // bytes assigned so far
};

// Assigns tensors to the writer `next` until this writer has its share, then to the following writers. Updates `next`.
std::vector<CheckpointFile> cut(const TensorSources& tensors, Writer& next, int64_t share, int writers) {
  std::vector<CheckpointFile> files;
  for (const auto& tensor : tensors) {
    while (next.load >= share && next.rank + 1 < writers) next = {.rank = next.rank + 1};
    if (files.empty() || files.back().writer != next.rank) files.push_back({.writer = next.rank});
    files.back().tensors.insert(tensor);
    next.load += stored_bytes(tensor.second);
  }
  return files;
}

}  // namespace

FileLayout file_layout(const Context& ctx, const ParamStore& params, const std::vector<FlatState>& buffers) {
  FileLayout layout;
  for (const FlatState& buffer : buffers) {
    const bool fits = buffer.flat.numel() == params.numel() && buffer.flat.matrices.device == ctx.device();
    require(fits, ErrorKind::internal,
            "a checkpoint's buffer must be laid out like the parameters, on the context's device");
    for (const Param& param : params.params()) {
      if (!buffer.flat.has(param)) continue;
      const TensorSource source{&param, buffer.flat.of(param), &buffer};
      const bool added = layout[buffer.kind].emplace(buffer.prefix + param.spec.name, source).second;
      require(added, ErrorKind::internal, "two tensors in a checkpoint have the same name");
    }
  }
  return layout;
}

std::vector<int64_t> dims_of(const Shape& shape) {
  std::vector<int64_t> dims;
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape[i]);
  return dims;
}

std::vector<CheckpointFile> divide_into_files(const FileLayout& layout, int ranks, int64_t smallest_share) {
  int64_t total = 0, parameters = 0;
  for (const auto& [kind, tensors] : layout) {
    total += stored_bytes(tensors);
    if (kind == kParameters) parameters = stored_bytes(tensors);
  }
  const auto writers = static_cast<int>(std::clamp<int64_t>(total / smallest_share, 1, ranks));
  const int64_t share = (total + writers - 1) / writers;
  std::vector<CheckpointFile> files;
  Writer first, next{.load = parameters};  // writers of the parameters and of the rest
  for (const auto& [kind, tensors] : layout) {
    const bool is_whole = kind == kParameters;
    std::vector<CheckpointFile> parts = cut(tensors, is_whole ? first : next, share, is_whole ? 1 : writers);
    for (size_t i = 0; i < parts.size(); ++i)
      parts[i].name = kind + (parts.size() == 1 ? "" : fmt::format("-{:05d}-of-{:05d}", i + 1, parts.size())) + kSuffix;
    files.insert(files.end(), parts.begin(), parts.end());
  }
  return files;
}

int64_t stored_bytes(const std::vector<CheckpointFile>& files, int writer) {
  int64_t bytes = 0;
  for (const CheckpointFile& file : files)
    if (file.writer == writer) bytes += stored_bytes(file.tensors);
  return bytes;
}

std::vector<std::string> files_of_kind(const std::vector<std::string>& names, const std::string& kind) {
  std::vector<std::string> files;
  std::copy_if(names.begin(), names.end(), std::back_inserter(files), [&](const std::string& name) {
    return name == kind + kSuffix || (name.starts_with(kind + "-") && name.ends_with(kSuffix));
  });
  return files;
}

}  // namespace weft
