// trainer/import/formats/ctranslate2_file.h: finds the variables of CTranslate2's model.bin.
//
// trainer/export/formats/ctranslate2_file.h describes the file, which is untrusted here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "trainer/import/formats/tensor_files.h"

namespace weft {

struct Ctranslate2Variables {
  TensorFiles files;                           // arrays
  std::map<std::string, double> numbers;       // scalars
  std::map<std::string, std::string> aliases;  // other names of arrays
};

// Throws an Error of kind checkpoint if the file is damaged or has another version or specification.
Ctranslate2Variables open_ctranslate2(const std::string& path);

}  // namespace weft
