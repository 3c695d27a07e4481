// tests/emulation/nccl/member.h: one rank's part of an emulated NCCL communicator.
#pragma once

#include <nccl.h>

#include <atomic>
#include <string>

#include "tests/emulation/nccl/segment.h"

namespace weft::emulation {

class Member {
 public:
  Member(const std::string& segment_name, int rank, int size);  // uses the calling thread's device

  ncclResult_t connect();  // ncclSuccess when all ranks are connected, ncclInProgress before
  void abort();            // ends its collectives without results
  void leave();            // takes part in no further collectives

  int rank() const { return rank_; }
  int size() const { return size_; }
  int device() const { return shared(rank_).device; }
  bool aborted() const { return aborted_; }
  ncclResult_t error() const { return error_; }
  void fail(ncclResult_t error, const std::string& text);  // asynchronously; the first error counts

  // Its collectives, which run one at a time, use these.
  RankState& shared(int rank) const { return segment_.rank(rank); }
  std::byte* deposit(int rank) const { return segment_.deposit(rank); }
  bool all_reached(uint64_t stage);  // if a rank has left before: an error, and always false
  void count_collective();           // applies the injected fault
  bool stalled() const { return stalled_; }

  uint64_t num_pieces = 0;  // pieces that it has finished

 private:
  ncclResult_t check_ranks();

  Segment segment_;
  const int rank_, size_;
  int faulty_collective_ = -1, num_collectives_ = 0;
  bool stalls_ = false, stalled_ = false;
  std::atomic<bool> aborted_ = false;
  std::atomic<ncclResult_t> error_ = ncclSuccess;
};

int emulated_version();

// Store and return the process's last error, for ncclGetLastError.
void set_last_error(const std::string& text);
const char* last_error();

}  // namespace weft::emulation
