// trainer/report/event_log.h: writes and reads a run's log.jsonl, which has one JSON object per line.
//
// docs/formats/log-format.md describes the records and their versions. A number is read as the same double that was
// written; null stands for a number that is not finite. Each record is a single write of a complete line, so only the
// last line of a killed run may be incomplete. Records stay in memory if they cannot be written yet (full disk).
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/report/append_file.h"

namespace weft {

inline constexpr int64_t kLogSchema = 2;                // version of the records that this program writes
inline constexpr size_t kMaxLogLine = size_t{1} << 26;  // bytes of a line with its '\n'

using RecordVisitor = std::function<void(nlohmann::json&&)>;

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
// damaged, longer than kMaxLogLine or nested too deeply (data/strict_json.h), or has a later schema than kLogSchema.
void for_each_record(const std::string& path, const RecordVisitor& visit);
// The same, but each score, which is logged later, is visited in the record of its validation.
void for_each_scored_record(const std::string& path, const RecordVisitor& visit);

void require_plain_log(const std::string& path);  // throws an Error if `path` exists but is not a regular file

class LogLines {  // reads a log line by line
 public:
  explicit LogLines(std::string path);  // throws an Error if `path` exists but is not a regular file
  bool is_open() const { return file_.is_open(); }

  // Reads the next complete line. Returns false at the end of the log, and before a last line without '\n'. Throws an
  // Error if the file cannot be read, or if the line is longer than kMaxLogLine.
  bool next();
  const std::string& line() const { return line_; }  // with '\n'
  size_t offset() const { return offset_; }          // where the next line begins
  nlohmann::json record() const;                     // parses the line; throws the same Errors as for_each_record()

  // Continues after the line `last`, which is line `number` and ends at `offset`. If a different line is there, returns
  // false and continues with the first line.
  bool seek(const std::string& last, size_t offset, int64_t number);
  int64_t number() const { return number_; }

 private:
  [[noreturn]] void refuse(const std::string& reason) const;

  std::string path_, line_;
  std::ifstream file_;
  size_t offset_ = 0;
  int64_t number_ = 0;  // of the line, from 1
};

bool has_score(const nlohmann::json& record);  // true if the record contains only scores
// Returns whether `validation` is the record of a validation at the step of `scores`, and if so, adds `scores` to it.
bool add_scores(const nlohmann::json& scores, nlohmann::json& validation);

}  // namespace weft
