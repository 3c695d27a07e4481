// data/output/packed_copy.h: packs a text with gzip, zstd or xz.
#pragma once

#include <string>

#include "data/text/compression.h"

namespace weft {

// Returns what the end of a file's name means: .gz, .zst, .xz, or none.
Compression compression_for(const std::string& path);

// Packs the file `from` into the file `to`, which appears when it is complete (data/atomic_file.h). The bytes depend
// only on the text and on the version of the library.
void write_packed_copy(const std::string& from, const std::string& to, Compression compression);

}  // namespace weft
