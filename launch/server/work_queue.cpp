// launch/server/work_queue.cpp: hands over work under one mutex.
#include "launch/server/work_queue.h"

namespace weft {

bool WorkQueue::add(std::shared_ptr<Work> work) {
  const std::lock_guard lock(mutex_);
  if (closed_ || (sentences_ > 0 && sentences_ + work->sentences > limit_)) return false;
  sentences_ += work->sentences;
  waiting_.push_back(std::move(work));
  changed_.notify_one();
  return true;
}

std::vector<std::shared_ptr<Work>> WorkQueue::take(int64_t sentences) {
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Work>> taken;
  while (taken.empty()) {
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return {};
    const auto now = std::chrono::steady_clock::now();
    int64_t count = 0;
    std::deque<std::shared_ptr<Work>> rest;
    for (std::shared_ptr<Work>& work : waiting_) {
      const bool is_late = work->deadline <= now;
      const bool fits = taken.empty() || (work->kind == taken.front()->kind && count + work->sentences <= sentences);
      if (!is_late && !fits) {
        rest.push_back(std::move(work));
        continue;
      }
      sentences_ -= work->sentences;
      if (is_late) continue;
      count += work->sentences;
      taken.push_back(std::move(work));
    }
    waiting_ = std::move(rest);
  }
  return taken;
}

void WorkQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

int64_t WorkQueue::sentences() const {
  const std::lock_guard lock(mutex_);
  return sentences_;
}

}  // namespace weft
