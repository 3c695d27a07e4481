// launch/mpi_environment.h: detects whether a launcher started this process as a rank, and configures Open
// MPI.
#pragma once

namespace weft {

// The launcher's environment variables. Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE. MPICH, Intel MPI and
// `srun --mpi=pmi2` set PMI_SIZE and PMI_RANK. `srun --mpi=pmix` and other launchers with PMIx set PMIX_RANK.
// Slurm's own variables prove nothing: a batch script and a task of srun without MPI have them, too.
struct LaunchedAs {
  bool as_rank = false;  // false: this process is alone, and MPI is not started
  int size = 1;          // number of ranks; 0 = unknown
  int rank = 0;
};
LaunchedAs launched_as();

// An Error of kind usage unless MPI sees as many ranks as were started; otherwise each would work alone.
void require_all_ranks(const LaunchedAs& launched, int size);

// Call it before MPI is started; it keeps the user's settings.
void prepare_mpi_environment();

}  // namespace weft
