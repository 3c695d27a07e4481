// trainer/report/event_log.h: writes and reads a run's log.jsonl, which has one JSON object per line.
//
// docs/formats/log-format.md describes the records and their versions. A number is read as the same double that was
// written; null stands for a number that is not finite. Each record is a single write of a complete line, so only the
// last line of a killed run may be incomplete. Records stay in memory if they cannot be written yet (full disk).
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
  // Opens or creates `path` for appending. Truncates the log before the first line that is incomplete or that the run
  // will repeat: a record after `last_step`, the validation of `last_step` if it is due again, or the scores of a
  // validation at one of the steps `unscored`.
  EventLog(const std::string& path, int64_t last_step, bool validation_due = false,
           const std::vector<int64_t>& unscored = {});

  // Keys keep their order. Returns false if records stay in memory because they cannot be written.
  bool write(const nlohmann::ordered_json& record);
  void keep(const nlohmann::ordered_json& record);  // in memory, until the next write()
  void flush() { file_->flush(); }                  // throws an Error of kind io if records cannot be written

 private:
  std::optional<AppendFile> file_;
};

// Visits all complete records and ignores an incomplete last line. Throws an Error that names the line if a line is
// damaged or has a later schema than kLogSchema.
void for_each_record(const std::string& path, const std::function<void(nlohmann::json&&)>& visit);
std::vector<nlohmann::json> read_event_log(const std::string& path);

void require_plain_log(const std::string& path);  // throws an Error if `path` exists but is not a regular file
// Parses line `number` of `path`. Throws the same Errors as for_each_record().
nlohmann::json parse_record(std::string_view line, const std::string& path, int64_t number);

// Returns the log after moving each score, which is logged later, into the record of its validation.
std::vector<nlohmann::json> with_scores(std::vector<nlohmann::json> log);
bool has_score(const nlohmann::json& record);  // true if the record contains only scores
// Returns whether `validation` is the record of a validation at the step of `scores`, and if so, adds `scores` to it.
bool add_scores(const nlohmann::json& scores, nlohmann::json& validation);

}  // namespace weft
