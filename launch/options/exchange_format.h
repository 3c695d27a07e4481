// launch/options/exchange_format.h: file formats of other programs that `weft import` and `weft export`
// support.
#pragma once

#include <cstdint>

#include "tensor/enum_names.h"

namespace weft {

enum class ImportFormat : uint8_t { pytorch };
constexpr EnumNames<ImportFormat, 1> enum_names(ImportFormat) { return {{{"pytorch", ImportFormat::pytorch}}}; }

enum class ExportFormat : uint8_t { pytorch, ctranslate2, huggingface, marian };
constexpr EnumNames<ExportFormat, 4> enum_names(ExportFormat) {
  return {{{"pytorch", ExportFormat::pytorch},
           {"ctranslate2", ExportFormat::ctranslate2},
           {"huggingface", ExportFormat::huggingface},
           {"marian", ExportFormat::marian}}};
}

}  // namespace weft
