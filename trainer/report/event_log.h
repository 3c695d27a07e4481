// trainer/report/event_log.h: a run's log.jsonl: one JSON object a line, for people, charts and other tools.
//
// A step has step epoch loss nll lr grad_norm source_tokens target_tokens seconds fill mfu; with several ranks
// slowest_rank and waiting (the share of their time until the slowest one is done); in f16 loss_scale,
// and skipped = true if its gradients were not finite. A validation has step valid_loss valid_nll bleu chrf. A
// rollback has step rolled_back_to: the updates of the steps between these two are undone.
// Numbers read back to the same double; one that is not finite is null. Each record is one write of a whole
// line, so that a killed run leaves at most one incomplete line, at the end. What cannot be written, to a full
// disk for instance, is kept in memory and comes before the next record.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft {

class EventLog {
 public:
  // Appends to `path`, which is created if necessary. Records of what the run will repeat are cut off: those after
  // `last_step` and, if it is due again, the validation after that step; and so is an unfinished line.
  EventLog(const std::string& path, int64_t last_step, bool validation_due = false);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Keys keep their order. Returns false if records are kept in memory because they cannot be written now.
  bool write(const nlohmann::ordered_json& record);
  void flush();  // Error of kind io if records cannot be written

 private:
  bool write_kept();  // sets errno if it fails

  std::string path_, kept_;
  int file_ = -1;
};

// All whole records; an unfinished last line is left out. A damaged line is an Error that names it.
std::vector<nlohmann::json> read_event_log(const std::string& path);

}  // namespace weft
