// launch/options/exchange_format.h: file formats of other programs that `weft import` and `weft export`
// support.
#pragma once

#include <cstdint>

#include "tensor/enum_names.h"

namespace weft {

enum class ExchangeFormat : uint8_t { pytorch };

constexpr EnumNames<ExchangeFormat, 1> enum_names(ExchangeFormat) { return {{{"pytorch", ExchangeFormat::pytorch}}}; }

}  // namespace weft
