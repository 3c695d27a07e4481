// parallel/mpi/session.cpp: starts and ends MPI, and checks its return codes.
#include "parallel/mpi/session.h"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>

#include "parallel/mpi/check.h"
#include "tensor/error.h"

namespace weft {

void check_mpi(int code, const char* call, std::source_location where) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(ErrorKind::peer, fmt::format("{} failed: {}; another rank may have stopped: see its message", call, text),
       where);
}

namespace {

// Over TCP, Open MPI announces a message above 64 kB, waits for the answer and only then sends the message, which takes
// three latencies instead of one. This function raises the limit, unless the environment sets it, so that gradients of
// small models are sent immediately. A rank buffers messages that arrive before it receives them: at most 8 MB more
// than by default, because parts of full buckets (parallel/grad_sync.h) are still announced.
void send_at_once_over_tcp() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size == nullptr) size = std::getenv("SLURM_NTASKS");
  const int64_t ranks = size == nullptr ? 0 : std::atoll(size);
  if (ranks < 2) return;
  const std::string bytes = std::to_string(std::clamp<int64_t>((8 << 20) / ranks, 64 << 10, 1 << 20));
  for (const char* limit : {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_rndv_eager_limit"})
    setenv(limit, bytes.c_str(), /*overwrite=*/0);
}

}  // namespace

MpiSession::MpiSession() : exceptions_at_start_(std::uncaught_exceptions()) {
  send_at_once_over_tcp();
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (provided < MPI_THREAD_FUNNELED) {
    fail(ErrorKind::peer, "this MPI library does not support threads (MPI_THREAD_FUNNELED); install one that does");
  }
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");

  watchdog_ = std::make_unique<MpiWatchdog>(rank_, size_);
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() == exceptions_at_start_) MPI_Finalize();
}

void MpiSession::abort(int code) const {
  // This rank has said why. Under srun, Open MPI would add seven lines.
  if (const int null = open("/dev/null", O_WRONLY); null >= 0) dup2(null, STDERR_FILENO);
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);  // in case MPI_Abort returns
}

}  // namespace weft
