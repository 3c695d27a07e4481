// trainer/report/event_log.h: a run's log.jsonl: one JSON object per line, for people, charts and other tools.
//
// docs/formats/log-format.md describes the records and their versions. Numbers read back to the same double; one that is not
// finite is null. Each record is one write of a complete line, so a killed run leaves at most one incomplete line, at
// the end. What cannot be written, for example to a full disk, stays in memory and is written before the next record.
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
  // Appends to `path`, which is created if necessary. Cuts off records of what the run will repeat: those after
  // `last_step`; the validation after that step if it is due again; scores of validations after the steps `unscored`;
  // and an unfinished line.
  EventLog(const std::string& path, int64_t last_step, bool validation_due = false,
           const std::vector<int64_t>& unscored = {});

  // Keys keep their order. Returns false if records are kept in memory because they cannot be written now.
  bool write(const nlohmann::ordered_json& record);
  void keep(const nlohmann::ordered_json& record);  // in memory; written together with the next one
  void flush() { file_->flush(); }                  // throws an Error of kind io if records cannot be written

 private:
  std::optional<AppendFile> file_;
};

// Visits all complete records and ignores an unfinished last line. Throws an Error that names a damaged line, or a
// start with a later schema than kLogSchema.
void for_each_record(const std::string& path, const std::function<void(nlohmann::json&&)>& visit);
std::vector<nlohmann::json> read_event_log(const std::string& path);

// The functions above use these: throw an Error if `path` is not a regular file; return the record in a line.
void require_plain_log(const std::string& path);
nlohmann::json parse_record(std::string_view line, const std::string& path, int64_t number);

// Returns the log with the scores of validations, which come later, inside the records of these validations.
std::vector<nlohmann::json> with_scores(std::vector<nlohmann::json> log);
bool has_score(const nlohmann::json& record);  // contains only scores
// Adds them to `validation` if it is one and has the same step. Returns whether it did.
bool add_scores(const nlohmann::json& scores, nlohmann::json& validation);

}  // namespace weft
