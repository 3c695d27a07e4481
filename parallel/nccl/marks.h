// parallel/nccl/marks.h: how far a stream has come with its collectives, written by the stream itself into memory of
// the host, where a watchdog reads it without a call of CUDA that could wait.
//
// Behind each collective the stream copies the collective's number from a table on the device to a word of the host.
// What a CUDA graph replays cannot be counted by the host, so there the beginning is noted too, in a word of its own,
// and a number says what kind of collective it is. So a graph may hold any number of them.
#pragma once

#include <nccl.h>  // brings CUDA's runtime

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weft::nccl {

struct Collective {
  const char* name = "";
  int64_t bytes = 0;
  int rank = 0, size = 1;  // of its group
  int64_t step = -1;       // -1: not known
};
std::string describe(const Collective& collective);  // "all_reduce of 4096 bytes in step 7, rank 1 of a group of 2"

class Marks {
 public:
  Marks();
  ~Marks();
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  void set_step(int64_t step) { step_ = step; }
  int64_t step() const { return step_; }

  // Around the enqueueing of one collective on `stream`; one thread's calls.
  void begin(const Collective& collective, cudaStream_t stream);
  void end(cudaStream_t stream);

  // From any thread.
  std::optional<Collective> unfinished() const;  // the first one that is enqueued (in a graph: running), if any
  uint64_t position() const;                     // another one after each collective

 private:
  struct Kind {  // of captured collectives: those of one name, size and group
    Collective collective;
    int64_t num_captured = 0;
  };

  int64_t num_ended() const;  // of those outside graphs
  int64_t next_captured_number(const Collective& collective);
  void mark(uint32_t* word, int64_t table_index, cudaStream_t stream);

  uint32_t* words_ = nullptr;     // pinned memory: the last mark outside graphs, the last one in them; 0: none yet
  uint32_t* table_ = nullptr;     // device memory: 1, 2, 3 ...
  mutable std::mutex mutex_;      // of what follows; only the thread that computes writes
  std::vector<Collective> ring_;  // outside graphs: number n is at n % kRing
  int64_t num_issued_ = 0;
  std::vector<Kind> kinds_;
  std::atomic<int64_t> step_ = -1;  // the current one
  // Of the one between begin() and end():
  bool capturing_ = false;
  int64_t captured_number_ = 0;
};

}  // namespace weft::nccl
