// trainer/report/log_follower.h: reads a run's log.jsonl while the run writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace weft {

class LogFollower {
 public:
  explicit LogFollower(std::string path) : path_(std::move(path)) {}

  // Calls add(record) for what is new. A resumed run cuts off the records that it repeats: then clear() comes first,
  // and the whole log again. A log that does not exist yet is empty. What read_event_log() refuses is an Error here,
  // too.
  void update(const std::function<void()>& clear, const std::function<void(const nlohmann::json&)>& add);

 private:
  std::string path_, last_line_;  // with its line end
  size_t read_ = 0;               // bytes of whole lines
  int64_t lines_ = 0;
};

}  // namespace weft
