// trainer/run/run.cpp: starts a run and loops over its steps: enter the next stage, train, recover, validate, save.
#include "trainer/run/run.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "data/atomic_file.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/initial_values.h"
#include "trainer/plan/prepare_run.h"
#include "trainer/plan/run_plan.h"
#include "trainer/run/recovery.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_report.h"
#include "trainer/run/tuned_gemms.h"
#include "trainer/step/step_limits.h"

namespace weft {
namespace {

class Run {
 public:
  Run(const RunContext& run, SignalWatch& signals) : run_(run), signals_(signals) {}

  void take_initial_values();  // for a new run
  // `kept_gemms` contains the GEMM choices of an earlier start. REQUIRES: the run's folder is open.
  void start(const std::string& plan, const std::string& kept_gemms);
  int loop();  // returns the exit status

 private:
  RunEnd begin();
  StopRequest own_request();
  double clock() const;
  RunEnd end_of_work(StopRequest request) const;
  RunEnd end_after(StopRequest request) const;  // like end_of_work(), but also considers a stop and patience
  void enter_next_stage();
  void take_snapshot_of_data();
  StepReport step();
  RunEnd validate(StopRequest request);
  void save(bool last);
  int finish(RunEnd end);

  void keep_base_of_adapters();

  const RunContext& run_;
  SignalWatch& signals_;
  CheckpointLease init_;  // the checkpoint that a new run adapts, until it is copied
  RunCheckpoints checkpoints_{run_};
  Validator validator_{run_, checkpoints_};
  Recovery recovery_{run_, checkpoints_, validator_};
};

void Run::take_initial_values() {
  const TrainConfig& t = run_.config().train;
  if (t.init.empty()) return;
  Trainer& trainer = run_.trainer;
  CheckpointLease from = initial_values_from(trainer.replica(), trainer.states().front(), t.init, run_.config().model,
                                             run_.prepared.first_corpus());
  trainer.begin_average();
  run_.log.message(fmt::format("starting with the parameters of {}", from.folder));
  if (run_.config().model.lora.on()) init_ = std::move(from);
}

// Copies the model to the run's folder, because checkpoints will contain only the adapters.
void Run::keep_base_of_adapters() {
  const RunConfig& config = run_.config();
  AdapterState kept = all_or_none(run_.world(), [&] {
    return run_.is_main_rank() ? keep_base(init_.folder, run_.checkpoints_folder(), config.model.lora.scale())
                               : AdapterState();
  });
  kept.base = run_.world().broadcast_string(kept.base, /*root=*/0), kept.scale = config.model.lora.scale();
  run_.state.adapters = kept;
  init_ = CheckpointLease();
}

void Run::start(const std::string& plan, const std::string& kept_gemms) {
  const RunConfig& config = run_.config();
  const std::string& resume_from = run_.prepared.resume_from;
  Communicator& world = run_.world();
  std::vector<std::string> changes;
  if (!resume_from.empty()) changes = checkpoints_.resume(resume_from);
  if (resume_from.empty() && config.model.lora.on()) keep_base_of_adapters();
  run_.data.set_clock(clock());
  take_snapshot_of_data();
  validator_.resume();  // removes texts of earlier starts before anything is written, because the disk may be full
  all_or_none(world, [&] {
    if (!run_.is_main_rank()) return;
    if (resume_from.empty() && !config.train.fresh)  // the run ended before its first save
      if (const int64_t step = RunFolder::last_logged_step(config.train.output); step > 0)
        run_.log.message(fmt::format("there is no checkpoint, so the {} steps in log.jsonl are repeated", step));
    run_.log.open(*run_.folder, plan, run_.prepared.config_text, run_.state);
    run_.folder->note_started();  // only here, so that a start that fails keeps the notes of the last one
  });
  if (config.train.tune_gemm)
    if (const std::string timed = tune_gemms(run_.trainer, config.train.output, kept_gemms, world); !timed.empty())
      run_.log.message(timed);
  for (const std::string& remark : validator_.remarks()) run_.log.message(remark);
  if (resume_from.empty()) return;
  checkpoints_.link_newest();
  all_or_none(world, [&] {
    if (!run_.is_main_rank()) return;
    for (const std::string& line : describe_resume(run_.prepared, run_.data.stages(), changes, run_.state))
      run_.log.message(line);
  });
}

int Run::loop() {
  RunEnd end = begin();
  while (end == RunEnd::none) {
    enter_next_stage();
    const StepReport report = step();
    recovery_.observe(report);
    recovery_.guard([&] { checkpoints_.advance(report.totals); });
    end = validate(report.totals.request);
    if (end != RunEnd::none || report.totals.request == StopRequest::save || checkpoints_.is_due())
      recovery_.guard([&] { save(/*last=*/end != RunEnd::none); });
  }
  return finish(end);
}

// Completes the validation and scores that an earlier start postponed. Returns why the run ends, or RunEnd::none.
RunEnd Run::begin() {
  const bool time_is_over = run_.world().max(own_request() == StopRequest::finish ? 1 : 0) == 1;
  RunEnd end = end_after(time_is_over ? StopRequest::finish : StopRequest::none);
  const bool is_over = end != RunEnd::none;
  if (is_over && !run_.state.validation_due && run_.state.scores_due.empty())
    run_.log.message(describe_nothing_left(end, run_.config(), run_.state.step));
  all_or_none(run_.world(), [&] {
    if (!is_over && run_.is_main_rank()) write_file_atomically(run_.folder->config(), run_.prepared.config_text);
  });
  if (run_.state.validation_due) {
    bool is_done = false;
    recovery_.guard([&] { is_done = validator_.validate(is_over); });
    if (!is_done) end = RunEnd::stop;
    if (checkpoints_.is_wanted()) recovery_.guard([&] { save(/*last=*/end != RunEnd::none); });
  }
  return end == RunEnd::none || end == RunEnd::stop || validator_.wait_for_scores() ? end : RunEnd::stop;
}

// Returns this rank's pending request or, on the main rank, a stronger request if the run's time is over or a save is
// due. Only the main rank's clock decides, because clocks differ between ranks. If the run's folder is lost, requests a
// save, because each save first requires the folder.
StopRequest Run::own_request() {
  const StopRequest asked = signals_.take();
  if (!run_.is_main_rank()) return asked;
  const bool time_is_over = clock() >= 1;
  const bool save = checkpoints_.is_due_by_clock() || run_.folder_is_lost();
  return std::max(
      {asked, save ? StopRequest::save : StopRequest::none, time_is_over ? StopRequest::finish : StopRequest::none});
}

// Returns the share of train.minutes that is over. Only right after a start, it is the same on all ranks.
double Run::clock() const {
  const double minutes = run_.config().train.minutes;
  return minutes > 0 ? run_.state.seconds / (60 * minutes) : 0;
}

RunEnd Run::end_of_work(StopRequest request) const {
  if (run_.data.is_over()) return RunEnd::data;
  if (const int64_t steps = run_.config().train.steps; steps > 0 && run_.state.step >= steps) return RunEnd::steps;
  return request == StopRequest::finish ? RunEnd::minutes : RunEnd::none;
}

RunEnd Run::end_after(StopRequest request) const {
  if (request == StopRequest::stop) return RunEnd::stop;
  return validator_.out_of_patience() ? RunEnd::patience : end_of_work(request);
}

// Records the data position at the start of a run or stage. If the mix has changed, divergence detection starts again.
void Run::take_snapshot_of_data() {
  const std::vector<PastStage> before = std::move(run_.state.data.stages);
  checkpoints_.snapshot();
  if (!before.empty() && !is_same_mix(before.back().corpora, run_.state.data.stages.back().corpora))
    DivergenceRule::begin_data(run_.state.divergence);
}

// Call it between two steps. If a file of the next stage is missing or damaged, saves and ends the run.
void Run::enter_next_stage() {
  if (!run_.data.stage_is_over()) return;
  try {
    all_or_none(run_.world(), [&] { run_.data.require_next_stage(); });  // no rank enters the stage before all can
  } catch (const Error& e) {
    save(/*last=*/true);
    fail(e.kind(), fmt::format("{} after step {}: {}; the run is saved, so fix the files and run the same command "
                               "to resume",
                               describe_next_stage(run_.data.stages(), "cannot start"), run_.state.step, e.what()));
  }
  all_or_none(run_.world(), [&] { run_.data.enter_next_stage(); });
  take_snapshot_of_data();
  validator_.begin_stage();
  run_.log.stage_begins(run_.data.stages());
}

StepReport Run::step() {
  const StepReport report = run_.trainer.step(run_.data, own_request(), run_.is_main_rank() ? clock() : 0);
  checkpoints_.snapshot();
  run_.state.seconds += report.seconds;
  run_.log.step(report, so_far(run_.data, run_.state.seconds, run_.config().train.steps));
  if (const auto damage = run_.data.damage_of_next_stage())
    run_.log.message(fmt::format("{}: {}", describe_next_stage(run_.data.stages(), "cannot start yet"), *damage));
  return report;
}

// Validates if a validation is due. A stop request postpones the validation, even the one after the last step.
RunEnd Run::validate(StopRequest request) {
  validator_.take_scores();
  const bool is_last = end_of_work(request) != RunEnd::none;
  bool is_done = false;
  recovery_.guard([&] { is_done = validator_.validate(is_last); });
  const RunEnd end = is_done ? end_after(request) : RunEnd::stop;
  if (end == RunEnd::none || end == RunEnd::stop) return end;
  return validator_.wait_for_scores() ? end_after(request) : RunEnd::stop;  // a score may reset patience
}

void Run::save(bool last) {
  if (last) validator_.stop_command();
  checkpoints_.save(last);
  if (!checkpoints_.newest().empty()) validator_.remove_texts(step_of_checkpoint(checkpoints_.newest()));
}

int Run::finish(RunEnd end) {
  run_.require_folder();
  validator_.stop_command();
  if (end == RunEnd::stop) {
    all_or_none(run_.world(), [&] {
      if (run_.is_main_rank()) run_.folder->note_stopped(run_.state.step);
    });
    run_.log.message("the run was stopped on request and saved: run the same command to resume");
    return signals_.stop_signal() ? 128 + signals_.stop_signal() : 143;
  }
  run_.log.message(describe_end(end, run_.config(), run_.data.stages(), run_.state.step));
  run_.log.message(describe_next_step(run_.config().train.output, run_.data.dropped()));
  all_or_none(run_.world(), [&] {
    if (run_.is_main_rank()) run_.folder->note_finished(run_.state.step);
  });
  return 0;
}

// Opens the run's folder on the main rank. Returns nullptr on other ranks.
std::unique_ptr<RunFolder> open_folder(const RunConfig& config, Communicator& world) {
  const TrainConfig& t = config.train;
  std::unique_ptr<RunFolder> folder;
  all_or_none(world, [&] {
    if (world.is_main_rank()) folder = std::make_unique<RunFolder>(t.output, t.fresh);
  });
  all_or_none(world, [&] { RunFolder::require_visible(t.output); });
  world.limit_waits(config.parallel.timeout, t.output + "/waiting");
  return folder;
}

// A resumed run locks its folder before it reads checkpoints. A new run creates its folder, or renames the files of an
// older run, only when everything else is ready, so a run that cannot start changes nothing.
int run_on(const Mesh& mesh, ResolvedRun resolved, OtherPrograms* others) {
  Communicator& world = mesh.world();
  const TrainConfig t = resolved.config.train;
  SignalWatch signals;
  RunLog log(resolved.config, resolved.stages, mesh, others);
  all_or_none(world, [&] {
    if (world.is_main_rank()) RunFolder::require_checkpoints(t.output, t.fresh);
  });
  const bool is_new = world.max(world.is_main_rank() && RunFolder::would_begin(t.output, t.fresh) ? 1 : 0) == 1;
  std::unique_ptr<RunFolder> folder = is_new ? nullptr : open_folder(resolved.config, world);
  PreparedRun prepared = prepare_run(std::move(resolved), mesh.own(), world);
  if (others != nullptr) prepared.placement.others = describe_others(others->share_at_start());
  const std::string plan = plan_run(prepared, mesh);
  if (world.is_main_rank()) std::fputs(("weft train\n" + plan_for_screen(plan)).c_str(), stderr);
  if (const std::string tight = require_fit_on_gpus(prepared, mesh); !tight.empty()) log.message(tight);
  const std::string kept_gemms =
      all_or_none(world, [&] { return t.tune_gemm && world.is_main_rank() ? read_tuned_gemms(t.output) : ""; });
  const auto data =
      all_or_none(world, [&] { return std::make_unique<TrainingData>(prepared.config, prepared.stages, mesh); });
  const auto trainer =
      all_or_none(world, [&] { return std::make_unique<Trainer>(prepared.config, mesh, data->stages().has_mixes()); });
  TrainState state;
  const RunContext context{prepared, mesh, log, signals, *data, *trainer, state, folder};
  Run run(context, signals);
  log.set_limits(limits_of_step(prepared.config, trainer->pass(/*training=*/true), mesh));
  if (prepared.resume_from.empty()) run.take_initial_values();
  if (is_new) folder = open_folder(prepared.config, world);
  run.start(plan, kept_gemms);
  return run.loop();
}

}  // namespace

int run_training(const RunConfig& wanted, Communicator& world, OtherPrograms* others) {
  ResolvedRun resolved = resolve(wanted, world);
  const RunConfig& config = resolved.config;
  world.limit_waits(config.parallel.timeout, "");  // the run may not have a folder yet
  const Mesh mesh(world, config.parallel, choose_device(config.device, config.parallel.share_gpu, world));
  return run_on(mesh, std::move(resolved), others);
}

}  // namespace weft
