// trainer/run/run_log.h: writes log.jsonl and tensorboard/ in the folder of a run, and progress to standard error.
//
// Every rank owns a RunLog and makes the same calls. Only the main rank writes.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "parallel/placement/other_programs.h"
#include "trainer/display/progress.h"
#include "trainer/health/straggler.h"
#include "trainer/report/event_log.h"
#include "trainer/report/tensorboard.h"
#include "trainer/report/throughput.h"
#include "trainer/report/train_line.h"
#include "trainer/run/run_folder.h"
#include "trainer/stages/stages.h"
#include "trainer/stages/training_data.h"
#include "trainer/step/step_limits.h"
#include "trainer/trainer.h"
#include "trainer/validation/validation.h"

namespace weft {

struct RunSoFar {                        // totals of the run after a step
  double seconds = 0;                    // spent in all steps
  int64_t dropped = 0, below_score = 0;  // pairs left out
  int64_t last_step = 0;                 // StageRun::last_step()
  std::optional<int64_t> stages_end;     // StageRun::expected_end()
  std::vector<std::string> folders;      // StageRun::folders()
};

RunSoFar so_far(const TrainingData& data, double seconds, int64_t train_steps);

class RunLog {
 public:
  RunLog(const RunConfig& config, std::vector<Stage> stages, const Mesh& mesh, OtherPrograms* others = nullptr);
  // Call it on the main rank once the run's folder exists. A record with `plan` is written before the first other
  // record of this start.
  void open(const RunFolder& folder, const std::string& plan, const std::string& config, const TrainState& state);

  void set_limits(const StepLimits& limits) { limits_ = limits; }
  void step(const StepReport& report, const RunSoFar& run);
  void stage_begins(const StageRun& stages);  // call it before the stage's first step
  void rollback(int64_t step, int64_t back_to);
  void validation(const ValidationReport& report, const std::string& verdict);
  // Reports a score of train.validate_command for an earlier validation.
  void score(const CommandScore& score, const std::string& verdict);
  void message(const std::string& text) { progress_.message(text); }
  void flush();  // throws an Error of kind io if records are still unwritten, for example if the disk is full

 private:
  nlohmann::ordered_json start_record(int64_t step, const std::string& plan) const;
  void write(nlohmann::ordered_json record);
  void report_events(bool written);
  nlohmann::ordered_json step_record(const StepReport& report, const RunSoFar& run) const;
  TrainStatus status_of(const StepReport& report, const RunSoFar& run) const;
  std::string describe_place(const StepReport& report) const;
  std::vector<std::string> new_epochs(const StepReport& report);
  void report_epochs(const StepReport& report, const RunSoFar& run);
  void check_limits(const StepReport& report);
  void report_straggler(const StepReport& report);
  void report_skipped(const StepReport& report);

  RunConfig config_;
  const Mesh& mesh_;
  const std::vector<Stage> stages_;
  const bool has_corpora_;                // true if the stages use more than one corpus
  const std::vector<std::string> hosts_;  // hosts of the ranks
  StatusRow progress_;
  std::optional<EventLog> events_;
  std::unique_ptr<TensorBoardLog> tensorboard_;  // with train.tensorboard
  nlohmann::ordered_json start_;                 // record of this start; null once events_ has it
  bool is_written_ = true;                       // true if log.jsonl has all records
  bool has_events_ = true;                       // true if tensorboard/ has all records
  StragglerWatch stragglers_;
  OtherPrograms* others_;  // null: progress lines do not mention other programs
  ThroughputMeter throughput_;
  StepLimits limits_;
  bool limits_were_too_low_ = false;
  struct Epoch {
    int64_t number = 0, said_at = 0;  // said_at: step of the last message
  };
  std::vector<Epoch> epochs_;                                     // per corpus of the stage
  double stage_steps_ = 0, stage_source_ = 0, stage_target_ = 0;  // steps and tokens in the stage since this start
};

}  // namespace weft
