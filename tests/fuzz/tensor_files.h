// tests/fuzz/tensor_files.h: reads all that a file of tensors contains.
#pragma once

#include <string>
#include <vector>

#include "trainer/import/formats/marian_file.h"

namespace weft::fuzz {

inline void read_all(const TensorFiles& files) {
  for (const std::string& name : files.names())
    if (name == kMarianConfiguration) {
      files.bytes(name);
    } else {
      const int64_t values = numel_of(files.shape(name));
      files.read(name, 0, values, std::vector<float>(static_cast<size_t>(values) + 1).data());
    }
}

}  // namespace weft::fuzz
