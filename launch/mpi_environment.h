// launch/mpi_environment.h: detects whether a launcher started this process as a rank, and configures Open MPI.
#pragma once

namespace weft {

// The result of reading the launcher's environment variables. Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE. MPICH, Intel
// MPI and `srun --mpi=pmi2` set PMI_SIZE and PMI_RANK. `srun --mpi=pmix` and other launchers with PMIx set PMIX_RANK.
// Slurm's own variables prove nothing, because batch scripts and tasks of srun without MPI also have them.
struct LaunchedAs {
  bool as_rank = false;  // false: this is the only process, and MPI is not started
  int size = 1;          // number of ranks; 0 = unknown
  int rank = 0;
};
LaunchedAs launched_as();

// Throws an Error of kind usage unless MPI sees all started ranks. Otherwise each rank would do all the work by itself.
void require_all_ranks(const LaunchedAs& launched, int size);

// Sets Open MPI's variables, except for those that the user has set. Call it before MPI is started.
void prepare_mpi_environment();

}  // namespace weft
