// trainer/import/formats/safetensors_files.cpp: one safetensors file, or several with an index, as transformers saves
// them.
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

void add(const std::string& path, TensorFiles& all) {
  const SafetensorsFile file(fs::weakly_canonical(path));  // resolves links
  std::map<std::string, TensorInFile> tensors;
  for (const auto& [name, entry] : file.entries())
    tensors[name] = {.dtype = entry.dtype, .shape = entry.shape, .offset = file.data_begin() + entry.begin};
  all.add(file.file(), tensors);
}

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

TensorFiles open_safetensors(const std::string& folder) {
  TensorFiles all;
  const std::string single = folder + "/model.safetensors", index = single + ".index.json";
  if (fs::exists(single)) {
    add(single, all);
  } else if (fs::exists(index)) {
    for (const std::string& name : listed_files(index)) add(folder + "/" + name, all);
  } else {
    fail(ErrorKind::checkpoint,
         fmt::format("{} has neither model.safetensors nor model.safetensors.index.json", folder));
  }
  return all;
}

}  // namespace weft
