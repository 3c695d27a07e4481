// trainer/import/formats/marian_file.h: opens Marian's two formats of models, .npz and .bin.
#pragma once

#include <string>

#include "trainer/import/formats/tensor_files.h"

namespace weft {

// Throw an Error of kind checkpoint that names file and array if the file is damaged.
TensorFiles open_npz(const std::string& path);
TensorFiles open_marian_bin(const std::string& path);

// The array with the configuration. Both formats have it: a text that may end with NULs.
inline constexpr const char* kMarianConfiguration = "special:model.yml";

}  // namespace weft
