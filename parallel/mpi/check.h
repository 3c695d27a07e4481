// parallel/mpi/check.h: checks MPI return codes.
#pragma once

#include <source_location>

namespace weft {

// Throws a peer Error with MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call, std::source_location where = std::source_location::current());

}  // namespace weft
