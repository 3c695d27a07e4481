// trainer/display/png.h: encodes pictures as PNG (ISO/IEC 15948): 8-bit RGB, no filter. zlib compresses the pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Returns the PNG of `rgb`, which is [height, width, 3]. REQUIRES: height and width are at least 1.
std::string to_png(int64_t width, int64_t height, const std::vector<uint8_t>& rgb);

}  // namespace weft
