// trainer/report/log_follower.cpp: detects a truncated log, in which the last line read is not in its place.
#include "trainer/report/log_follower.h"

#include <nlohmann/json.hpp>

#include "trainer/report/event_log.h"

namespace weft {

void LogFollower::update(const std::function<void()>& clear, const std::function<void(const nlohmann::json&)>& add) {
  LogLines lines(path_);
  if (!lines.seek(last_line_, read_, lines_)) {
    clear();
    last_line_.clear();
    read_ = 0, lines_ = 0;
  }
  while (lines.next()) {
    last_line_ = lines.line(), read_ = lines.offset(), lines_ = lines.number();
    add(lines.record());
  }
}

}  // namespace weft
