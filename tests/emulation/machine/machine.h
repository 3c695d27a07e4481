// tests/emulation/machine/machine.h: the emulated devices of a process and the queues of work behind their streams.
//
// Work is executed late: only while a thread waits. It then runs a random ready head of all queues until its
// wait is over. Work that no stream or event orders thus runs in any order, and a copy reads memory long
// after the call. Several threads may wait and work at once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulation/runtime/census.h"
#include "tests/emulation/runtime/error.h"
#include "tests/emulation/runtime/memory.h"
#include "tests/emulation/runtime/random.h"

namespace weft::emulation {

class Capture;
struct Queue;

enum class Progress { finished, advanced, blocked };  // blocked: other work must run first

struct Point {  // in a queue's work: after the first `count` items
  std::shared_ptr<const Queue> queue;
  uint64_t count = 0;
  bool reached() const;
};

struct Work {
  std::function<Progress(Access& access)> run;  // opens the memory that it accesses
  std::vector<Point> after = {};                // in addition to earlier work of its queue
  Counted counted = {};                         // when it is finished
};

struct Queue {
  int device = 0;
  bool is_legacy = false;    // the null stream
  bool is_blocking = false;  // ordered with the null stream
  int priority = 0;          // a lower number is a greater priority; only nodes of graphs regard it
  bool abandoned = false;    // its stream is destroyed: removed when empty
  std::deque<Work> work;
  uint64_t enqueued = 0, finished = 0;
  bool running = false;              // its head runs on some thread
  uint64_t blocked_in = 0;           // the last round in which its head was blocked
  std::shared_ptr<Capture> capture;  // records the work instead, if set
};
inline bool Point::reached() const { return queue == nullptr || queue->finished >= count; }

struct Device {
  explicit Device(size_t bytes) : memory(bytes) {}
  DeviceMemory memory;
  std::shared_ptr<Queue> legacy;
  int64_t num_launches = 0, faulty_launch = -1;  // -1: none
  std::string fault;                             // of a kernel or a job; all later calls on the device fail with it
};

class Machine {
 public:
  Machine();  // only for machine()

  using Lock = std::unique_lock<std::mutex>;
  Lock lock() { return Lock(mutex_); }

  int num_devices() const { return static_cast<int>(devices_.size()); }
  Device& device(int index);              // throws a Failure if there is none
  int device_of(const void* data) const;  // the device that owns the address; -1: none
  std::vector<DeviceMemory*>& memories() { return memories_; }
  PinnedMemory& pinned() { return pinned_; }
  void seed(uint64_t seed);
  uint64_t draw();

  // The functions below are called with the lock held and release it while work runs.
  Device& sound_device(int index);  // throws a Failure if it has a fault
  std::shared_ptr<Queue> make_queue(int device, bool is_blocking);
  Point push(const std::shared_ptr<Queue>& queue, Work work);  // into its capture, if there is one
  void wait(Lock& lock, const std::function<bool()>& done);
  std::optional<Progress> step(Lock& lock, Access& access);  // nothing if no head can run now
  std::vector<Point> ends(int device) const;                 // current ends of all its queues
  void settle(Lock& lock);                                   // runs work until no head can run
  void drop_work(Lock& lock, int device);                    // discards work that has not started

 private:
  std::shared_ptr<Queue> choose();
  bool may_run(const Queue& queue) const;
  void order_with_legacy(const Queue& queue, Work& work) const;
  Progress perform(Lock& lock, Queue& queue, Access& access);
  void sleep(Lock& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<DeviceMemory*> memories_;
  std::vector<std::shared_ptr<Queue>> queues_;
  uint64_t round_ = 1;  // incremented when a blocked head might continue
  PinnedMemory pinned_;
  std::mutex random_mutex_;
  Random random_{0};
};

Machine& machine();
int current_device();  // of the calling thread

// A stream's queue; requires the lock. nullptr is the current device's null stream. Throws a Failure if there
// is none.
std::shared_ptr<Queue> queue_of(cudaStream_t stream);

}  // namespace weft::emulation
