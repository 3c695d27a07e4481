// parallel/nccl/marks.h: marks the progress of collectives. The GPU writes the marks into host memory, where a watchdog
// reads them without CUDA calls, which could block.
//
// The marks have a stream of their own, so that neither a collective nor the computation waits for one. After each
// collective, and after each replay of a CUDA graph, this stream copies the number of the call from a table on the
// device to a host word. The host cannot count the collectives within a graph. So in a graph, the start of each
// collective is marked in a second word, with a number that identifies the kind of collective: a mark is written once
// the inputs of the collective are ready and the previous collective has ended. A graph may contain any number of
// collectives.
#pragma once

#include <nccl.h>  // includes CUDA's runtime

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "parallel/collective_call.h"
#include "parallel/nccl/event.h"

namespace weft::nccl {

class Marks {
 public:
  Marks();
  ~Marks();  // REQUIRES: the events that end() has got will be reached
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  // One thread calls begin() before it enqueues a collective that waits for the event `inputs`, and end() afterwards,
  // when `done` is recorded. At the end of a capture it calls join(), and after each launch of a graph, replayed().
  void begin(const CollectiveCall& collective, Event& inputs);
  void end(Event& done);
  void join(cudaStream_t capturing);
  void replayed(int64_t step, cudaStream_t of_graph);

  // Any thread may call these.
  std::optional<CollectiveCall> unfinished() const;  // the oldest enqueued one; in a graph, the running one
  uint64_t position() const;                         // changes after each collective

 private:
  struct Kind {  // captured collectives with the same name, size and group
    CollectiveCall collective;
    int64_t num_captured = 0;
  };
  struct Issued {  // an enqueued collective, or an enqueued graph
    CollectiveCall collective;
    bool is_graph = false;
  };

  void issue(const Issued& call);
  int64_t num_ended() const;  // of the issued calls
  int64_t next_captured_number(const CollectiveCall& collective);
  void mark(uint32_t* word, int64_t table_index);
  bool is_capturing() const;

  cudaStream_t stream_ = nullptr;
  Event joined_, replayed_;
  bool capturing_ = false;      // between begin() and end()
  uint32_t* words_ = nullptr;   // pinned memory: the last marks of issued calls and in graphs; 0: none
  uint32_t* table_ = nullptr;   // device memory: 1, 2, 3 ...
  mutable std::mutex mutex_;    // guards the following members; only the computing thread writes
  std::vector<Issued> issued_;  // number n is at n % kRing
  int64_t num_issued_ = 0;
  std::vector<Kind> kinds_;
};

}  // namespace weft::nccl
