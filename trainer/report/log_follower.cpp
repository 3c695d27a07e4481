// trainer/report/log_follower.cpp: detects a truncated log, in which the last line read is not in its place.
#include "trainer/report/log_follower.h"

#include <fstream>
#include <iterator>

#include "trainer/report/event_log.h"

namespace weft {

void LogFollower::update(const std::function<void()>& clear, const std::function<void(const nlohmann::json&)>& add) {
  require_plain_log(path_);
  std::ifstream file(path_, std::ios::binary);
  const auto text_from = [&](size_t place) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(place));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  size_t begin = last_line_.size();
  std::string text = text_from(read_ - begin);
  if (!text.starts_with(last_line_)) {
    clear();
    text = text_from(0);
    begin = read_ = 0, lines_ = 0;
    last_line_.clear();
  }
  for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    last_line_ = text.substr(begin, end + 1 - begin);
    read_ += last_line_.size();
    add(parse_record(last_line_, path_, ++lines_));
  }
}

}  // namespace weft
