// launch/mpi_environment.cpp: Open MPI's settings, as environment variables.
#include "launch/mpi_environment.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace weft {
namespace {

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

constexpr int kKeepUsers = 0;

// Open MPI looks for its plugins where it was installed. Where it was moved together with its lib/ and share/, as in
// the archive, OPAL_PREFIX says where they are now.
void find_moved_open_mpi() {
  void* const call = dlsym(RTLD_DEFAULT, "MPI_Init_thread");
  Dl_info library{};
  if (call == nullptr || dladdr(call, &library) == 0 || library.dli_fname == nullptr) return;
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(library.dli_fname, failed);
  const std::filesystem::path prefix = file.parent_path().parent_path();
  if (!failed && std::filesystem::is_directory(prefix / "share" / "openmpi", failed))
    setenv("OPAL_PREFIX", prefix.c_str(), kKeepUsers);
}

}  // namespace

void prepare_mpi_environment() {
  find_moved_open_mpi();
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
