// launch/server/work_queue.h: requests that wait for the model. The threads of connections add work and wait for its
// answer; one thread takes work that can be done together. All functions may be called by any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft {

class ServerMetrics;

struct Work {
  virtual ~Work() = default;
  // Sets the answers of `all`, which are of the kind of this work, and counts them. Throws nothing.
  virtual void do_together(const std::vector<std::shared_ptr<Work>>& all, ServerMetrics& metrics) = 0;

  std::string kind;       // works of the same kind can be done together
  int64_t sentences = 0;  // each sample counts as one
  std::chrono::steady_clock::time_point deadline;
  std::promise<std::string> answer;  // JSON, or an exception
};

class WorkQueue {
 public:
  // `limit` is the number of sentences that may wait; one request of more sentences may wait alone.
  explicit WorkQueue(int64_t limit) : limit_(limit) {}

  // Returns false if the queue is full or closed.
  bool add(std::shared_ptr<Work> work);
  // Waits for work. Returns the oldest one, and others of its kind, in order, up to `sentences` in all; nothing if the
  // queue is closed and empty. Work whose deadline has passed is left out; nobody waits for its answer.
  std::vector<std::shared_ptr<Work>> take(int64_t sentences);
  void close();  // no work is accepted anymore; take() returns what is there
  int64_t sentences() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Work>> waiting_;
  int64_t limit_, sentences_ = 0;
  bool closed_ = false;
};

}  // namespace weft
