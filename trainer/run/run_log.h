// trainer/run/run_log.h: reports of a training run: log.jsonl and tensorboard/ in its folder, progress on standard
// error.
//
// Every rank has one and makes the same calls; only the main rank writes.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "trainer/health/straggler.h"
#include "trainer/prediction/roofline.h"
#include "trainer/report/event_log.h"
#include "trainer/report/progress.h"
#include "trainer/report/tensorboard.h"
#include "trainer/report/throughput.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/validation.h"
#include "trainer/stages.h"
#include "trainer/trainer.h"

namespace weft {

class RunLog {
 public:
  RunLog(const RunConfig& config, const Mesh& mesh);
  // On the main rank, once the run's folder exists. The first record of this start comes after one with `plan`.
  void open(const RunFolder& folder, const std::string& plan, const TrainState& state);

  void set_limits(const StepLimits& limits) { limits_ = limits; }
  // `seconds`: of all steps of the run so far; `dropped`: pairs left out so far.
  void step(const StepReport& report, double seconds, int64_t dropped, int64_t below_score);  // pairs left out so far
  void rollback(int64_t step, int64_t back_to);
  void validation(const ValidationReport& report, const std::string& verdict);
  // Of train.validate_command, of an earlier validation.
  void score(const CommandScore& score, const std::string& verdict);
  void message(const std::string& text) { progress_.message(text); }
  void flush();  // Error of kind io if a record could not be written so far, to a full disk for instance

 private:
  nlohmann::ordered_json start_record(int64_t step, const std::string& plan) const;
  void write(nlohmann::ordered_json record);
  std::string describe_place(const StepReport& report) const;
  void report_stage(const StepReport& report);
  void report_epoch(const StepReport& report, int64_t dropped, int64_t below_score);
  void report_straggler(const StepReport& report);
  void report_skipped(const StepReport& report);

  RunConfig config_;
  const Mesh& mesh_;
  const std::vector<Stage> stages_;
  const std::vector<std::string> hosts_;  // of each rank
  TrainProgress progress_;
  std::optional<EventLog> events_;
  std::optional<TensorBoardLog> tensorboard_;  // with train.tensorboard
  nlohmann::ordered_json start_;               // the record of this start; null once it is kept
  bool is_written_ = true;                     // all records
  StragglerWatch stragglers_;
  ThroughputMeter throughput_;
  StepLimits limits_;
  std::optional<size_t> stage_;
  int64_t epoch_ = -1;
  double epoch_steps_ = 0, epoch_source_ = 0, epoch_target_ = 0;
};

}  // namespace weft
