// data/text/decompressors/decompressors.h: declares one decompressor per library. It is internal to data/text/.
#pragma once

#include <memory>

#include "data/text/compression.h"

namespace weft {

std::unique_ptr<Decompressor> make_gzip_decompressor();
std::unique_ptr<Decompressor> make_zstd_decompressor();
std::unique_ptr<Decompressor> make_xz_decompressor();

}  // namespace weft
