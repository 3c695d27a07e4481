// data/regular_file.h: opens files for reading that are data and nothing else.
#pragma once

#include <string>

#include "data/atomic_file.h"

namespace weft {

// A named pipe would keep us waiting and a device would have no end: both, and folders, are an Error of kind data.
// So is a file that is not there; one that cannot be opened now is an Error of kind io.
FileDescriptor open_regular_file(const std::string& path);

}  // namespace weft
