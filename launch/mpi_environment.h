// launch/mpi_environment.h: whether a launcher started this process as a rank, and what Open MPI needs to know then.
#pragma once

namespace weft {

// What the environment says about a launcher. Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE. MPICH, Intel MPI and
// `srun --mpi=pmi2` set PMI_SIZE and PMI_RANK. `srun --mpi=pmix` and other launchers over PMIx set PMIX_RANK.
// Slurm's own variables do not count: a batch script and a task of srun without MPI have them too.
struct LaunchedAs {
  bool as_rank = false;  // else this process is alone, and MPI is not started
  int size = 1;          // ranks that were started; 0 = the launcher does not say
  int rank = 0;
};
LaunchedAs launched_as();

// An Error of kind usage unless MPI sees as many ranks as were started: else each of them would work alone.
void require_all_ranks(const LaunchedAs& launched, int size);

// To be called before MPI is started; settings that the user made stay.
void prepare_mpi_environment();

}  // namespace weft
