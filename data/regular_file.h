// data/regular_file.h: opens files for reading, and refuses what is not a regular file.
#pragma once

#include <string>

#include "data/atomic_file.h"

namespace weft {

// Throws a data Error for a named pipe (which would keep us waiting), a device (which would have no end), a folder, and
// a missing file. Throws an io Error for a file that cannot be opened now.
FileDescriptor open_regular_file(const std::string& path);

}  // namespace weft
