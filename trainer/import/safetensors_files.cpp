// trainer/import/safetensors_files.cpp: one safetensors file, or several with an index, as transformers saves them.
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "data/atomic_file.h"
#include "data/strict_json.h"
#include "tensor/error.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/import/tensor_files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class SafetensorsFiles : public TensorFiles {
 public:
  void add(const std::string& path) {
    const SafetensorsFile& file = files_.emplace_back(fs::weakly_canonical(path));  // resolves links
    for (const auto& [name, entry] : file.entries()) {
      const auto [other, is_new] = places_.emplace(name, Place{&file, &entry});
      if (!is_new)
        fail(ErrorKind::checkpoint,
             fmt::format("tensor '{}' is in {} and in {}", printable(name), other->second.file->path(), file.path()));
    }
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, place] : places_) all.push_back(name);
    return all;
  }
  bool has(const std::string& name) const override { return places_.contains(name); }
  const std::vector<int64_t>& shape(const std::string& name) const override { return places_.at(name).entry->shape; }
  void read(const std::string& name, int64_t first, int64_t count, float* out) const override {
    places_.at(name).file->read(name, first, count, out);
  }
  std::string file_of(const std::string& name) const override { return places_.at(name).file->path(); }

 private:
  struct Place {
    const SafetensorsFile* file;
    const SafetensorsEntry* entry;
  };
  std::deque<SafetensorsFile> files_;
  std::map<std::string, Place> places_;
};

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

std::unique_ptr<TensorFiles> open_safetensors(const std::string& folder) {
  auto all = std::make_unique<SafetensorsFiles>();
  const std::string single = folder + "/model.safetensors", index = single + ".index.json";
  if (fs::exists(single)) {
    all->add(single);
  } else if (fs::exists(index)) {
    for (const std::string& name : listed_files(index)) all->add(folder + "/" + name);
  } else {
    fail(ErrorKind::checkpoint,
         fmt::format("{} has neither model.safetensors nor model.safetensors.index.json", folder));
  }
  return all;
}

}  // namespace weft
