// parallel/mpi/check.h: the check of every MPI return code.
#pragma once

#include <source_location>

namespace weft {

// Throws a peer Error with MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call, std::source_location where = std::source_location::current());

}  // namespace weft
