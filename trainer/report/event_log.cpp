// trainer/report/event_log.cpp: appends and reads JSON lines.
#include "trainer/report/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "data/atomic_file.h"
#include "tensor/error.h"

namespace weft {
namespace {

// Calls visit(record, offset of its line) for each finished line until it returns false; returns where it stopped.
size_t visit_records(const std::string& path, const std::string& text,
                     const std::function<bool(nlohmann::json&&)>& visit) {
  size_t begin = 0;
  for (int64_t number = 1;; ++number) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) return begin;
    nlohmann::json record =
        nlohmann::json::parse(text.begin() + begin, text.begin() + end, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object() || !record.value("step", nlohmann::json(0)).is_number_integer())
      fail(ErrorKind::data,
           fmt::format("{}:{}: not a record of a step; the file is damaged; move it away to continue without its "
                       "records",
                       path, number));
    if (!visit(std::move(record))) return begin;
    begin = end + 1;
  }
}

}  // namespace

EventLog::EventLog(const std::string& path, int64_t last_step, bool validation_due) : path_(path) {
  size_t keep = 0;
  if (std::filesystem::is_regular_file(path)) {
    keep = visit_records(path, read_file(path), [&](const nlohmann::json& record) {
      const int64_t step = record.value("step", int64_t{0});
      return step < last_step || (step == last_step && !(validation_due && record.contains("valid_loss")));
    });
  }
  // Neither through a link, which would shorten another file, nor to a pipe, which would wait for a reader.
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file_ < 0) fail(ErrorKind::io, fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  if (::ftruncate(file_, static_cast<off_t>(keep)) != 0) {
    const int error = errno;
    ::close(file_);
    fail(ErrorKind::io, fmt::format("cannot shorten '{}': {}", path, std::strerror(error)));
  }
}

EventLog::~EventLog() {
  if (file_ >= 0) ::close(file_);
}

bool EventLog::write(const nlohmann::ordered_json& record) {
  kept_ += record.dump() + "\n";
  return write_kept();
}

void EventLog::flush() {
  if (!write_kept()) fail(ErrorKind::io, fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
}

bool EventLog::write_kept() {
  while (!kept_.empty()) {
    const ssize_t written = ::write(file_, kept_.data(), kept_.size());
    if (written < 0 && errno != EINTR) return false;
    kept_.erase(0, static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return true;
}

std::vector<nlohmann::json> read_event_log(const std::string& path) {
  std::vector<nlohmann::json> records;
  visit_records(path, read_file(path), [&](nlohmann::json&& record) {
    records.push_back(std::move(record));
    return true;
  });
  return records;
}

}  // namespace weft
