// trainer/report/event_log.h: a run's log.jsonl: one JSON object a line, for people, charts and other tools.
//
// docs/log-format.md has the records and their versions. Numbers read back to the same double; one that is not
// finite is null. Each record is one write of a whole line, so that a killed run leaves at most one incomplete
// line, at the end. What cannot be written, to a full disk for instance, is kept in memory and comes before the
// next record.
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

inline constexpr int64_t kLogSchema = 2;  // of the records that this program writes

class EventLog {
 public:
  // Appends to `path`, which is created if necessary. Records of what the run will repeat are cut off: those after
  // `last_step`; if it is due again, the validation after that step; scores of validations after the steps `unscored`;
  // and so is an unfinished line.
  EventLog(const std::string& path, int64_t last_step, bool validation_due = false,
           const std::vector<int64_t>& unscored = {});

  // Keys keep their order. Returns false if records are kept in memory because they cannot be written now.
  bool write(const nlohmann::ordered_json& record);
  void keep(const nlohmann::ordered_json& record);  // in memory; it is written together with the next one
  void flush() { file_->flush(); }                  // Error of kind io if records cannot be written

 private:
  std::optional<AppendFile> file_;
};

// All whole records; an unfinished last line is left out. A damaged line, and a start
// with a later schema than kLogSchema, is an Error that names it.
void for_each_record(const std::string& path, const std::function<void(nlohmann::json&&)>& visit);
std::vector<nlohmann::json> read_event_log(const std::string& path);

// What they are made of: an Error if there is something else than a regular file; and the record in a line.
void require_plain_log(const std::string& path);
nlohmann::json parse_record(std::string_view line, const std::string& path, int64_t number);

// The log with the scores of validations, which come later, in the records of these validations.
std::vector<nlohmann::json> with_scores(std::vector<nlohmann::json> log);
bool has_score(const nlohmann::json& record);  // and nothing but scores
// Adds them to `validation` if that is one, and of their step; returns whether it is.
bool add_scores(const nlohmann::json& scores, nlohmann::json& validation);

}  // namespace weft
