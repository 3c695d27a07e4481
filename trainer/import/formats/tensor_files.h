// trainer/import/formats/tensor_files.h: reads the tensors of a model by name, from one file or several.
//
// Each format has a function that finds the tensors in the file; the values are then read in the same way. The files
// are untrusted: each name, shape and offset is checked before it is used, and no more memory is allocated than the
// caller asks for. Errors are of kind checkpoint or io, and name file and tensor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainer/checkpoint/checked_file.h"

namespace weft {

struct TensorInFile {
  std::string dtype;           // a name of safetensors: "F32", "F16", "BF16", "I8", ...
  std::vector<int64_t> shape;  // each size is at least 0
  uint64_t offset = 0;         // of the first value in the file; the values are row-major and little-endian
  uint64_t bytes = 0;          // that the file has for the values
};

int64_t numel_of(const std::vector<int64_t>& shape);  // -1 if no file could contain as many values

class TensorFiles {
 public:
  // Throws an Error if a tensor exceeds its bytes or the file, or if another file has a tensor of this name.
  void add(std::shared_ptr<const CheckedReader> file, const std::map<std::string, TensorInFile>& tensors);

  std::vector<std::string> names() const;  // sorted
  bool has(const std::string& name) const { return places_.contains(name); }
  const std::vector<int64_t>& shape(const std::string& name) const { return places_.at(name).tensor.shape; }
  // Writes `count` values from index `first` as f32. F16 and BF16 are widened exactly; other types are refused.
  void read(const std::string& name, int64_t first, int64_t count, float* out) const;
  bool are_equal(const std::string& name, const std::string& other) const;  // in shape and values
  std::string bytes(const std::string& name) const;                         // of an I8 tensor of at most 1 MiB
  const std::string& file_of(const std::string& name) const { return places_.at(name).file->path(); }

 private:
  struct Place {
    std::shared_ptr<const CheckedReader> file;
    TensorInFile tensor;
  };
  std::map<std::string, Place> places_;
};

// Opens model.safetensors or pytorch_model.bin of a folder, or the files that their .index.json lists. Throws an Error
// of kind checkpoint if the folder has none of them.
TensorFiles open_huggingface_weights(const std::string& folder);

void add_safetensors(const std::string& path, TensorFiles& all);
// Adds the tensors of a state_dict in a file of torch.save, of which nothing is executed.
void add_pytorch_bin(const std::string& path, TensorFiles& all);

}  // namespace weft
