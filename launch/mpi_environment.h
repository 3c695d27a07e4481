// launch/mpi_environment.h: detects whether a launcher started this process as a rank, and configures Open MPI.
#pragma once

namespace weft {

// Tells whether environment variables mark this process as one of several. Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE.
// MPICH, Intel MPI and `srun --mpi=pmi2` set PMI_SIZE and PMI_RANK. `srun --mpi=pmix` and other launchers with PMIx set
// PMIX_RANK. Any srun sets SLURM_STEP_NUM_TASKS, which batch scripts lack.
struct LaunchedAs {
  bool as_rank = false;   // false: this is the only process, and MPI is not started
  bool with_pmix = true;  // false: MPI cannot connect the processes
  int size = 1;           // number of ranks; 0 = unknown
  int rank = 0;
  int size_on_host = 1;  // number of ranks on this host; only Open MPI tells it, else 1
};
LaunchedAs launched_as();

// Throws an Error of kind usage if several processes were started without PMIx. Call this function before starting MPI,
// which would fail with many lines.
void require_pmix(const LaunchedAs& launched);

// Throws an Error of kind usage unless MPI sees all started ranks. Without this check, each rank would do all the work.
void require_all_ranks(const LaunchedAs& launched, int size);

// Sets environment variables of Open MPI that the user has not set. Call this function before starting MPI.
void prepare_mpi_environment();

}  // namespace weft
