// tests/support/temporary_folder.h: the program's temporary folders, for tests.
#pragma once

#include "data/temporary_folder.h"

namespace weft::testing {

using weft::TemporaryFolder;

}  // namespace weft::testing
