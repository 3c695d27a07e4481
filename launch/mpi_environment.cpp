// launch/mpi_environment.cpp: reads the environment variables of launchers, and sets variables of Open MPI.
#include "launch/mpi_environment.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "tensor/error.h"

namespace weft {
namespace {

int number_in(const char* variable) {  // returns 0 if the variable is not set
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

constexpr int kKeepUsers = 0;

// Sets OPAL_PREFIX, because an Open MPI that was moved would otherwise search for its plugins in its original folder.
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

LaunchedAs launched_as() {
  const auto is_set = [](const char* variable) { return std::getenv(variable) != nullptr; };
  const auto as_rank = [](const char* size, const char* rank) {
    return LaunchedAs{.as_rank = true,
                      .size = number_in(size),
                      .rank = number_in(rank),
                      .size_on_host = std::max(1, number_in("OMPI_COMM_WORLD_LOCAL_SIZE"))};
  };
  if (is_set("OMPI_COMM_WORLD_SIZE")) return as_rank("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK");
  const auto as_process = [&](const char* size, const char* rank) {
    LaunchedAs launched = as_rank(size, rank);
    launched.with_pmix = is_set("PMIX_RANK");
    return launched.with_pmix || launched.size != 1 ? launched : LaunchedAs{};
  };
  if (is_set("PMI_SIZE") || is_set("PMI_RANK")) return as_process("PMI_SIZE", "PMI_RANK");
  if (is_set("PMIX_RANK")) return as_rank("SLURM_STEP_NUM_TASKS", "PMIX_RANK");  // PMIx sets no variable for the size
  if (is_set("SLURM_STEP_NUM_TASKS")) return as_process("SLURM_STEP_NUM_TASKS", "SLURM_PROCID");
  return {};
}

void require_pmix(const LaunchedAs& launched) {
  if (launched.with_pmix) return;
  fail(
      ErrorKind::usage,
      fmt::format("{} processes were started without PMIx, and each would do all the work: use srun --mpi=pmix, or the "
                  "mpirun of this program's MPI library",
                  launched.size == 0 ? "several" : std::to_string(launched.size)));
}

void require_all_ranks(const LaunchedAs& launched, int size) {
  if (launched.size == 0 || launched.size == size) return;
  fail(ErrorKind::usage,
       fmt::format("{} ranks were started, but this program's MPI library sees {}: start the program with the mpirun "
                   "of this MPI library, or with srun --mpi=pmix",
                   launched.size, size));
}

void prepare_mpi_environment() {
  find_moved_open_mpi();
  // Without PMIx, Open MPI would start a daemon per process, which fails as root or without ssh. With this setting, a
  // process starts as a single rank instead, and require_all_ranks() reports the cause.
  if (std::getenv("PMIX_RANK") == nullptr) setenv("OMPI_MCA_ess_singleton_isolated", "1", kKeepUsers);
  // Containers forbid processes to read each other's memory. Without this setting, Open MPI warns of it on each rank.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", kKeepUsers);
  // A rank that waits leaves its core to others. On a busy machine, polling ranks would wait many times longer.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", kKeepUsers);
  if (const int size = number_in("OMPI_COMM_WORLD_SIZE"); size > 0 && size == number_in("OMPI_COMM_WORLD_LOCAL_SIZE")) {
    // All ranks are on this host, so shared memory is enough and no rank listens on a network.
    setenv("OMPI_MCA_pml", "ob1", kKeepUsers);
    setenv("OMPI_MCA_btl", "self,vader", kKeepUsers);
  }
}

}  // namespace weft
