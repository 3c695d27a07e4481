// tests/emulation/machine/machine.h: the emulated devices of a process and the queues of work behind their streams.
//
// Work is done late: only when somebody waits, and then of all queues' heads that may run one at random, until what is
// waited for is done. So what has no order by its stream or by an event happens in any order, and a copy reads memory
// long after it was asked for. Several threads may wait and work at once.
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

#include "tests/emulation/runtime/error.h"
#include "tests/emulation/runtime/memory.h"
#include "tests/emulation/runtime/random.h"

namespace weft::emulation {

class Capture;
struct Queue;

enum class Progress { finished, advanced, blocked };  // blocked: others must do something first

struct Point {  // in a queue's work: behind the first `count` pieces
  std::shared_ptr<const Queue> queue;
  uint64_t count = 0;
  bool reached() const;
};

struct Work {
  std::function<Progress(Access& access)> run;  // opens the memory that it touches
  std::vector<Point> after = {};                // beside what stands before it in its queue
};

struct Queue {
  int device = 0;
  bool is_legacy = false;    // the null stream
  bool is_blocking = false;  // ordered with the null stream
  bool abandoned = false;    // its stream is destroyed: it ends when it is empty
  std::deque<Work> work;
  uint64_t enqueued = 0, finished = 0;
  bool running = false;              // its head, on some thread
  uint64_t blocked_in = 0;           // the round in which its head could do nothing
  std::shared_ptr<Capture> capture;  // takes the work instead
};
inline bool Point::reached() const { return queue == nullptr || queue->finished >= count; }

struct Device {
  explicit Device(size_t bytes) : memory(bytes) {}
  DeviceMemory memory;
  std::shared_ptr<Queue> legacy;
  int64_t num_launches = 0, faulty_launch = -1;  // -1: none
  std::string fault;  // of a kernel or a job; whatever is asked of the device later fails with it
};

class Machine {
 public:
  Machine();  // for machine() alone

  using Lock = std::unique_lock<std::mutex>;
  Lock lock() { return Lock(mutex_); }

  int num_devices() const { return static_cast<int>(devices_.size()); }
  Device& device(int index);              // a Failure if there is none
  int device_of(const void* data) const;  // whose address it is; -1: no device's
  std::vector<DeviceMemory*>& memories() { return memories_; }
  PinnedMemory& pinned() { return pinned_; }
  void seed(uint64_t seed);
  uint64_t draw();

  // What follows is called with the lock held, and lets go of it while work is done.
  Device& sound_device(int index);  // a Failure if it has a fault
  std::shared_ptr<Queue> make_queue(int device, bool is_blocking);
  Point push(const std::shared_ptr<Queue>& queue, Work work);  // into its capture, if there is one
  void wait(Lock& lock, const std::function<bool()>& done);
  std::optional<Progress> step(Lock& lock, Access& access);  // nothing: no head can run now
  std::vector<Point> ends(int device) const;                 // of all its queues, as they are now
  void settle(Lock& lock);                                   // until no head can run
  void drop_work(Lock& lock, int device);                    // what has not begun, never will

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
  uint64_t round_ = 1;  // another one whenever a blocked head might go on
  PinnedMemory pinned_;
  std::mutex random_mutex_;
  Random random_{0};
};

Machine& machine();
int current_device();  // of the calling thread

// What is behind a stream, with the lock held: nullptr is the current device's null stream. A Failure if there is none.
std::shared_ptr<Queue> queue_of(cudaStream_t stream);

}  // namespace weft::emulation
