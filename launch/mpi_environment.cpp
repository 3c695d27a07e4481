// launch/mpi_environment.cpp: Open MPI's settings, as environment variables.
#include "launch/mpi_environment.h"

#include <cstdlib>

namespace weft {
namespace {

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace

void prepare_mpi_environment() {
  constexpr int kKeepUsers = 0;
  const bool launched = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
  // Alone, Open MPI would start a daemon beside this process, which refuses to run as root and where ssh is missing.
  if (!launched) setenv("OMPI_MCA_ess_singleton_isolated", "1", kKeepUsers);
  // Containers forbid one process to read another's memory; Open MPI would complain for every rank.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", kKeepUsers);
}

LaunchedAs launched_as() {  // Open MPI; MPICH, Intel MPI and Slurm's PMI
  return {.size = number_in("OMPI_COMM_WORLD_SIZE", number_in("PMI_SIZE", 1)),
          .rank = number_in("OMPI_COMM_WORLD_RANK", number_in("PMI_RANK", 0))};
}

}  // namespace weft
