// trainer/import/tensor_files.h: reads the tensors of a model by name, from one file or several.
//
// The files are untrusted: each name, shape and offset is checked before it is used, and no more memory is allocated
// than the caller asks for. Errors are of kind checkpoint or io, and name file and tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

class TensorFiles {
 public:
  virtual ~TensorFiles() = default;
  virtual std::vector<std::string> names() const = 0;  // sorted
  virtual bool has(const std::string& name) const = 0;
  virtual const std::vector<int64_t>& shape(const std::string& name) const = 0;
  // Writes `count` values from index `first` as f32. F16 and BF16 are widened exactly.
  virtual void read(const std::string& name, int64_t first, int64_t count, float* out) const = 0;
  virtual std::string file_of(const std::string& name) const = 0;  // for messages
};

// Opens model.safetensors, or the files that model.safetensors.index.json lists. Throws an Error of kind checkpoint if
// the folder has neither, and if two files have the same tensor.
std::unique_ptr<TensorFiles> open_safetensors(const std::string& folder);

}  // namespace weft
