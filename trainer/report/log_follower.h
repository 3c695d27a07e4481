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

  // Calls add(record) for each new record. If a resumed run has cut off the records that it repeats, calls clear() and
  // then add() for the complete log. A log that does not exist yet is empty. Throws the Errors of for_each_record().
  void update(const std::function<void()>& clear, const std::function<void(const nlohmann::json&)>& add);

 private:
  std::string path_, last_line_;  // last_line_ includes '\n'
  size_t read_ = 0;               // bytes of the complete lines read so far
  int64_t lines_ = 0;             // number of these lines
};

}  // namespace weft
