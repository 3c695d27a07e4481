// parallel/nccl/marks.h: marks the progress of a stream's collectives. The stream writes the marks into host memory,
// where a watchdog reads them without CUDA calls, which could block.
//
// After each collective the stream copies the collective's number from a table on the device to a host word. The host
// cannot count the collectives that a CUDA graph replays. So in a graph, start and end are marked in a separate word,
// and the number identifies the kind of collective. A graph may therefore contain any number of collectives.
#pragma once

#include <nccl.h>  // includes CUDA's runtime

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "parallel/collective_call.h"

namespace weft::nccl {

class Marks {
 public:
  Marks();
  ~Marks();
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  void set_step(int64_t step) { step_ = step; }
  int64_t step() const { return step_; }

  // REQUIRES: one thread calls begin() before it enqueues a collective on `stream`, and end() afterwards.
  void begin(const CollectiveCall& collective, cudaStream_t stream);
  void end(cudaStream_t stream);

  // Any thread may call these.
  std::optional<CollectiveCall> unfinished() const;  // the oldest enqueued one; in a graph, the running one
  uint64_t position() const;                         // changes after each collective

 private:
  struct Kind {  // captured collectives with the same name, size and group
    CollectiveCall collective;
    int64_t num_captured = 0;
  };

  int64_t num_ended() const;  // outside graphs
  int64_t next_captured_number(const CollectiveCall& collective);
  void mark(uint32_t* word, int64_t table_index, cudaStream_t stream);

  uint32_t* words_ = nullptr;         // pinned memory: the last marks outside and inside graphs; 0: none
  uint32_t* table_ = nullptr;         // device memory: 1, 2, 3 ...
  mutable std::mutex mutex_;          // guards the following members; only the computing thread writes
  std::vector<CollectiveCall> ring_;  // outside graphs: number n is at n % kRing
  int64_t num_issued_ = 0;
  std::vector<Kind> kinds_;
  std::atomic<int64_t> step_ = -1;  // the current step
  // These describe the collective between begin() and end().
  bool capturing_ = false;
  int64_t captured_number_ = 0;
};

}  // namespace weft::nccl
