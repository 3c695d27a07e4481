// launch/mpi_environment.h: what Open MPI must be told before it starts in this process.
#pragma once

namespace weft {

// Lets a program that was not started by mpirun be a group of one, in a container and as root too. Settings that the
// user made stay.
void prepare_mpi_environment();

// How many processes a launcher (mpirun, srun) says it started, and which of them this one is: 1 and 0 without one.
struct LaunchedAs {
  int size = 1, rank = 0;
};
LaunchedAs launched_as();

}  // namespace weft
