// trainer/report/event_log.cpp: appends and reads JSON lines.
#include "trainer/report/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/strict_json.h"
#include "tensor/error.h"
#include "trainer/report/log_record.h"

namespace weft {
namespace {

// Calls visit(record) for complete lines until visit() returns false. Returns the offset after the last accepted line.
size_t visit_records(const std::string& path, const std::function<bool(nlohmann::json&&)>& visit) {
  LogLines lines(path);
  if (!lines.is_open()) fail(ErrorKind::io, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  size_t accepted = 0;
  while (lines.next() && visit(lines.record())) accepted = lines.offset();
  return accepted;
}

// Returns the records that contain only scores, by step. Other lines are not parsed, which would double the time.
std::map<int64_t, nlohmann::json> scores_in(const std::string& path) {
  std::map<int64_t, nlohmann::json> scores;
  LogLines lines(path);
  while (lines.next()) {
    if (lines.line().find("score\"") == std::string::npos) continue;
    nlohmann::json record = lines.record();
    const auto step = record.value("step", int64_t{-1});
    if (has_score(record)) scores[step] = std::move(record);
  }
  return scores;
}

}  // namespace

EventLog::EventLog(const std::string& path, int64_t last_step, bool validation_due,
                   const std::vector<int64_t>& unscored) {
  size_t size = 0;
  if (std::filesystem::is_regular_file(path)) {
    size = visit_records(path, [&](const nlohmann::json& record) {
      const int64_t step = record.value("step", int64_t{0});
      if ((has_score(record) || record.contains("no_score")) && std::ranges::count(unscored, step) > 0) return false;
      return step < last_step || (step == last_step && !(validation_due && is_validation(record)));
    });
  }
  file_.emplace(path, size);
}

void EventLog::keep(const nlohmann::ordered_json& record) {
  // A model may generate bytes that are not valid UTF-8. dump() replaces them.
  file_->keep(record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

bool EventLog::write(const nlohmann::ordered_json& record) {
  keep(record);
  return file_->write();
}

void require_plain_log(const std::string& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    fail(ErrorKind::io, fmt::format("{} is not a regular file", path));
}

LogLines::LogLines(std::string path) : path_(std::move(path)) {
  require_plain_log(path_);
  file_.open(path_, std::ios::binary);
}

bool LogLines::next() {
  if (!file_.is_open()) return false;
  line_.clear();
  char part[1 << 14];
  do {
    file_.clear();
    file_.getline(part, sizeof part);  // sets failbit if the line has more bytes than `part`, and eofbit without '\n'
    if (file_.bad()) fail(ErrorKind::io, fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    line_.append(part, static_cast<size_t>(file_.gcount()));
    if (line_.size() > kMaxLogLine) {
      ++number_;
      refuse(fmt::format("the line is longer than {} MiB", kMaxLogLine >> 20));
    }
  } while (file_.fail() && !file_.eof());
  if (file_.eof()) return false;
  line_.back() = '\n';  // gcount() counts the line end, which getline() replaces by a null character
  offset_ += line_.size();
  ++number_;
  return true;
}

void LogLines::refuse(const std::string& reason) const {
  fail(ErrorKind::data,
       fmt::format("{}:{}: {}; move the damaged file away to continue without its records", path_, number_, reason));
}

nlohmann::json LogLines::record() const {
  nlohmann::json record;
  try {
    record = parse_strict_json(line_, "the record", ErrorKind::data);
  } catch (const Error& e) {
    refuse(e.what());
  }
  if (!record.is_object() || !record.value("step", nlohmann::json(0)).is_number_integer())
    refuse("not a record of a step");
  const auto schema = record.find("schema");
  if (schema != record.end() && *schema > kLogSchema)
    fail(
        ErrorKind::data,
        fmt::format("{}:{}: written by a later version of weft with schema {}, but this version reads schemas up to {}",
                    path_, number_, printable(schema->dump()), kLogSchema));
  return record;
}

bool LogLines::seek(const std::string& last, size_t offset, int64_t number) {
  const auto go_to = [&](size_t place, int64_t lines) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(place));
    offset_ = place, number_ = lines;
  };
  if (!last.empty()) {
    go_to(offset - last.size(), number - 1);
    if (next() && line_ == last) return true;
  }
  go_to(0, 0);
  return last.empty();
}

void for_each_record(const std::string& path, const RecordVisitor& visit) {
  visit_records(path, [&](nlohmann::json&& record) {
    visit(std::move(record));
    return true;
  });
}

void for_each_scored_record(const std::string& path, const RecordVisitor& visit) {
  const std::map<int64_t, nlohmann::json> scores = scores_in(path);
  for_each_record(path, [&](nlohmann::json&& record) {
    if (has_score(record)) return;
    if (const auto found = scores.find(record.value("step", int64_t{0})); found != scores.end())
      add_scores(found->second, record);
    visit(std::move(record));
  });
}

bool has_score(const nlohmann::json& record) { return record.contains("score") && !is_validation(record); }

bool add_scores(const nlohmann::json& scores, nlohmann::json& validation) {
  const auto step = scores.find("step");
  const auto at = validation.find("step");
  if (!is_validation(validation) || step == scores.end() || at == validation.end() || *step != *at) return false;
  for (const auto& [key, value] : scores.items())
    if (is_score_key(key)) validation[key] = value;
  return true;
}

}  // namespace weft
