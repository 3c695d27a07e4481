// trainer/report/event_log.cpp: appends and reads JSON lines.
#include "trainer/report/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tensor/error.h"
#include "trainer/report/log_record.h"

namespace weft {
namespace {

// Calls visit(record) for complete lines until visit() returns false. Returns the offset after the last accepted line.
size_t visit_records(const std::string& path, const std::function<bool(nlohmann::json&&)>& visit) {
  const auto cannot_read = [&] { fail(ErrorKind::io, fmt::format("cannot read {}: {}", path, std::strerror(errno))); };
  require_plain_log(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) cannot_read();
  size_t begin = 0;
  std::string line;
  for (int64_t number = 1;; ++number) {
    std::getline(file, line);
    if (file.bad()) cannot_read();
    if (file.eof()) return begin;
    if (!visit(parse_record(line, path, number))) return begin;
    begin += line.size() + 1;
  }
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

nlohmann::json parse_record(std::string_view line, const std::string& path, int64_t number) {
  nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.value("step", nlohmann::json(0)).is_number_integer())
    fail(ErrorKind::data,
         fmt::format("{}:{}: not a record of a step; move the damaged file away to continue without its records", path,
                     number));
  const auto schema = record.find("schema");
  if (schema != record.end() && *schema > kLogSchema)
    fail(
        ErrorKind::data,
        fmt::format("{}:{}: written by a later version of weft with schema {}, but this version reads schemas up to {}",
                    path, number, printable(schema->dump()), kLogSchema));
  return record;
}

void for_each_record(const std::string& path, const std::function<void(nlohmann::json&&)>& visit) {
  visit_records(path, [&](nlohmann::json&& record) {
    visit(std::move(record));
    return true;
  });
}

std::vector<nlohmann::json> read_event_log(const std::string& path) {
  std::vector<nlohmann::json> records;
  for_each_record(path, [&](nlohmann::json&& record) { records.push_back(std::move(record)); });
  return records;
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

std::vector<nlohmann::json> with_scores(std::vector<nlohmann::json> log) {
  for (size_t i = 0; i < log.size(); ++i)
    for (size_t before = has_score(log[i]) ? i : 0; before > 0 && !add_scores(log[i], log[before - 1]);) --before;
  std::erase_if(log, has_score);
  return log;
}

}  // namespace weft
