// parallel/mpi/watchdog.h: runs a thread that ends this process when a wait for other ranks takes too long.
//
// MPI notices a rank that dies, but waits forever for one that hangs, is stopped or is cut off. A rank that only takes
// long, for example because its machine is busy, is none of these: while its process computes, reads or writes, it
// counts in FOLDER/rank-N.alive. When a wait exceeds the limit and no rank has counted in the meantime, or when it
// exceeds ten times the limit, this rank writes its wait and its recent collectives to FOLDER/rank-N.txt, and gives the
// other ranks a moment to do the same. It then prints where ranks wait and which ranks wrote nothing, and exits, even
// if the folder does not respond. The launcher then ends the other ranks. Time during which this process is suspended
// does not count. If another folder takes the place of FOLDER's parent, it is left alone.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "parallel/collective_call.h"

namespace weft {

// Keeps the parent of the folder open, because another folder may have its name later.
class WaitingFolder {
 public:
  explicit WaitingFolder(std::string name);
  ~WaitingFolder();
  WaitingFolder(const WaitingFolder&) = delete;
  WaitingFolder& operator=(const WaitingFolder&) = delete;

  const std::string& name() const { return name_; }  // for messages
  const std::string& path() const { return path_; }  // for this process, and only while the object exists
  std::string report(int rank) const;                // rank-N.txt
  std::string alive(int rank) const;                 // rank-N.alive

 private:
  const std::string name_;
  int parent_;  // -1 if it cannot be opened; no file can then be read or written
  std::string path_;
};

class MpiWatchdog {
 public:
  MpiWatchdog(int rank, int size) : rank_(rank), size_(size) {}  // rank and size of the world
  ~MpiWatchdog();
  MpiWatchdog(const MpiWatchdog&) = delete;
  MpiWatchdog& operator=(const MpiWatchdog&) = delete;

  // Starts the thread. The folder is created in its parent when it is needed; if `folder` is "", reports are only
  // printed.
  void limit(std::chrono::milliseconds longest, const std::string& folder);
  void set_step(int64_t step) { step_ = step; }
  double seconds_waited() const { return seconds_waited_; }  // called by the thread that waits

  class Wait {  // this rank waits in `call` while the object exists
   public:
    Wait(MpiWatchdog& watchdog, CollectiveCall call) : watchdog_(watchdog) { watchdog_.begin(call); }
    ~Wait() { watchdog_.end(); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    MpiWatchdog& watchdog_;
  };

 private:
  static constexpr uint64_t kRecent = 32;

  void begin(CollectiveCall call);
  void end();
  void run();
  using SharedFolder = std::shared_ptr<const WaitingFolder>;  // a thread that hangs may need it to the end
  void show_work(const SharedFolder& folder, std::chrono::milliseconds interval);
  std::string work_of_ranks(const SharedFolder& folder) const;  // the numbers in rank-N.alive, as text
  std::string wait_text() const;
  void write_report() const;
  std::string exchange_reports() const;
  [[noreturn]] void give_up();

  const int rank_, size_;
  std::atomic<int64_t> step_ = -1;
  double begin_ = 0;  // start of this wait; used by the waiting thread
  double seconds_waited_ = 0;
  struct Work {  // of this process since its start
    double cpu_seconds = 0;
    uint64_t bytes = 0;  // read and written
  };
  static Work work_of_process();
  Work shown_;             // at the last call of show_work()
  int64_t num_shown_ = 0;  // the number in rank-N.alive

  std::chrono::milliseconds limit_{};
  SharedFolder folder_;  // null if reports are only printed

  std::mutex mutex_;  // guards the following members
  std::condition_variable closed_;
  std::array<CollectiveCall, kRecent> recent_;  // call n is at n % kRecent
  uint64_t num_calls_ = 0;
  bool waiting_ = false, closing_ = false;
  std::thread thread_;
};

}  // namespace weft
