// parallel/mpi/session.h: starts and ends MPI. Create a session in main, before the first collective.
//
// REQUIRES: MPI is called only from the main thread. Errors of MPI are thrown as peer Errors. If an exception unwinds
// past a session, MPI is not finalized, because MPI_Finalize would wait for peers that may never arrive.
#pragma once

#include <cstdint>
#include <memory>

#include "parallel/communicator.h"
#include "parallel/mpi/watchdog.h"

namespace weft {

struct MpiLimits {                 // for tests; on one host, results do not depend on the limits
  int64_t message = 4 << 20;       // elements per MPI call: counts are int, so longer tensors are split
  int64_t small_reduce = 2 << 10;  // all-reduces up to this many elements gather everything and add locally
  int ranks_of_a_host = 0;         // ranks per host; 0: the actual number
};

class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  std::unique_ptr<Communicator> world(
      MpiLimits limits = {}) const;         // REQUIRES: the result is destroyed before the session
  [[noreturn]] void abort(int code) const;  // ends every rank of the run

 private:
  int exceptions_at_start_;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<MpiWatchdog> watchdog_;  // shared by all communicators
};

}  // namespace weft
