// trainer/import/formats/huggingface_files.cpp: the files of weights that transformers saves, one or several.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "data/atomic_file.h"
#include "data/strict_json.h"
#include "tensor/error.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/import/formats/tensor_files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Returns the files of the index. A name with a folder would lead outside.
std::set<std::string> listed_files(const std::string& index) {
  const nlohmann::json json = parse_strict_json(read_file(index), index, ErrorKind::checkpoint);
  std::set<std::string> files;
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    fail(ErrorKind::checkpoint, fmt::format("{} has no weight_map from tensors to files", index));
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name != fs::path(name).filename() || name == "..")
      fail(ErrorKind::checkpoint,
           fmt::format("{}: tensor '{}' is not in a file of the folder", index, printable(tensor)));
    files.insert(name);
  }
  return files;
}

}  // namespace

void add_safetensors(const std::string& path, TensorFiles& all) {
  const SafetensorsFile file(path);
  std::map<std::string, TensorInFile> tensors;
  for (const auto& [name, entry] : file.entries())
    tensors[name] = {.dtype = entry.dtype,
                     .shape = entry.shape,
                     .offset = file.data_begin() + entry.begin,
                     .bytes = entry.end - entry.begin};
  all.add(file.file(), tensors);
}

TensorFiles open_huggingface_weights(const std::string& folder) {
  using Add = void (*)(const std::string& path, TensorFiles& all);
  TensorFiles all;
  const auto path_of = [&](const std::string& name) { return fs::weakly_canonical(folder + "/" + name); };  // no links
  for (const auto& [name, add] :
       {std::pair<std::string, Add>("model.safetensors", add_safetensors), {"pytorch_model.bin", add_pytorch_bin}}) {
    const std::string index = folder + "/" + name + ".index.json";
    if (fs::exists(folder + "/" + name)) {
      add(path_of(name), all);
      return all;
    }
    if (!fs::exists(index)) continue;
    for (const std::string& part : listed_files(index)) add(path_of(part), all);
    return all;
  }
  fail(ErrorKind::checkpoint, fmt::format("{} contains neither model.safetensors nor pytorch_model.bin, neither as one "
                                          "file nor in parts with an index.json",
                                          folder));
}

}  // namespace weft
