// data/regular_file.h: opens regular files for reading, and refuses everything else.
#pragma once

#include <string>

#include "data/atomic_file.h"

namespace weft {

// Throws a data Error for a missing file, a folder, a named pipe (which could block forever) and a device (which may be
// endless). Throws an io Error for a file that cannot be opened.
FileDescriptor open_regular_file(const std::string& path);

}  // namespace weft
