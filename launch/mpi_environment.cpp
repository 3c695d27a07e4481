// launch/mpi_environment.cpp: Open MPI's settings, as environment variables.
#include "launch/mpi_environment.h"

#include <cstdlib>

namespace weft {

void prepare_mpi_environment() {
  constexpr int kKeepUsers = 0;
  const bool launched = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
  // Alone, Open MPI would start a daemon beside this process, which refuses to run as root and where ssh is missing.
  if (!launched) setenv("OMPI_MCA_ess_singleton_isolated", "1", kKeepUsers);
  // Containers forbid one process to read another's memory; Open MPI would complain for every rank.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", kKeepUsers);
}

}  // namespace weft
