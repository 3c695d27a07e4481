// trainer/report/event_log.h: a run's log.jsonl: one JSON object per line, for people, charts and other tools.
//
// docs/formats/log-format.md describes the records and their versions. Reading a number returns the same double; null
// is one that is not finite. Each record is one write of a complete line, so a killed run leaves at most one incomplete
// line, at the end. Records that cannot be written, for example to a full disk, stay in memory until the next write.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/report/append_file.h"

namespace weft {

inline constexpr int64_t kLogSchema = 2;  // version of the records that this program writes

class EventLog {
 public:
  // Appends to `path`, which is created if necessary. Cuts off an unfinished line and the records that the run will
  // repeat: records after `last_step`, the validation of that step if it is due again, and the scores of the
  // validations of the steps `unscored`.
  EventLog(const std::string& path, int64_t last_step, bool validation_due = false,
           const std::vector<int64_t>& unscored = {});

  // Keys keep their order. Returns false if records are kept in memory because they cannot be written.
  bool write(const nlohmann::ordered_json& record);
  void keep(const nlohmann::ordered_json& record);  // in memory, until the next write()
  void flush() { file_->flush(); }                  // throws an Error of kind io if records cannot be written

 private:
  std::optional<AppendFile> file_;
};

// Visits all complete records and ignores an unfinished last line. Throws an Error that names the line if a line is
// damaged or has a later schema than kLogSchema.
void for_each_record(const std::string& path, const std::function<void(nlohmann::json&&)>& visit);
std::vector<nlohmann::json> read_event_log(const std::string& path);

void require_plain_log(const std::string& path);  // throws an Error if it is not a regular file
// Returns the record in a line. Throws the Errors of for_each_record().
nlohmann::json parse_record(std::string_view line, const std::string& path, int64_t number);

// Returns the log with the scores of validations, which are logged later, moved into the records of the validations.
std::vector<nlohmann::json> with_scores(std::vector<nlohmann::json> log);
bool has_score(const nlohmann::json& record);  // contains only scores
// Adds `scores` to `validation` if this is the record of a validation of the same step. Returns whether it is.
bool add_scores(const nlohmann::json& scores, nlohmann::json& validation);

}  // namespace weft
