// launch/commands/average.cpp: `weft average` averages the weights of several checkpoints into a new checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/options.h"
#include "model/transformer.h"
#include "tensor/error.h"
#include "trainer/checkpoint/average.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/config/changed_options.h"
#include "trainer/config/config_text.h"
#include "trainer/display/progress.h"
#include "trainer/report/event_log.h"
#include "trainer/report/log_record.h"
#include "trainer/train_state.h"
#include "trainer/validation/validation_sets.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

enum class StoredPrecision : uint8_t { f32, int8 };  // of matrices; everything else is f32
constexpr EnumNames<StoredPrecision, 2> enum_names(StoredPrecision) {
  return {{{"f32", StoredPrecision::f32}, {"int8", StoredPrecision::int8}}};
}

struct AverageRequest {
  std::vector<std::string> paths;
  std::string output;
  int64_t last = 0, best = 0;
  bool force = false, raw_weights = false, quiet = false;
  StoredPrecision precision = StoredPrecision::f32;
};

bool parse(const std::vector<std::string>& args, AverageRequest& r) {
  Options options(
      "average RUN --last N --output DIR  |  RUN --best N --output DIR  |  CHECKPOINT ... --output DIR\n\n"
      "Averages the weights of several checkpoints into a new checkpoint, which often translates better than each.\n\n"
      "  weft average runs/mine --last 3 --output runs/mine-average");
  options.positional("PATH", r.paths, "a run's folder (with --last or --best), or several checkpoints of one model");
  options.add("last", r.last, "average the run's N newest checkpoints (train.keep_last sets how many a run keeps)");
  options.add("best", r.best,
              "average the run's N best checkpoints by the metric in train.keep_best (train.keep_best_checkpoints sets "
              "how many a run keeps)");
  options.add("output", r.output, "new or empty folder for the averaged checkpoint");
  options.add("force", r.force, "replace an earlier average in --output");
  options.add("raw-weights", r.raw_weights,
              "average the raw weights of the checkpoints instead of their moving averages (train.ema)");
  options.add("precision", r.precision,
              "type of the new checkpoint's matrices: f32; int8 = a quarter of the size, for translation with "
              "--precision int8; one checkpoint is then enough");
  options.add("quiet", r.quiet, "print no progress");
  for (const char* name : {"last", "best"}) options.describe_default(name, "");
  if (!options.parse(args)) return false;
  options.require("output");
  while (r.output.size() > 1 && r.output.ends_with('/')) r.output.pop_back();
  const bool of_run = options.given("last") || options.given("best");
  if (options.given("last") && options.given("best")) fail(ErrorKind::usage, "--last and --best cannot be combined");
  if (of_run && (r.last < 0 || r.best < 0 || r.last + r.best < 1))
    fail(ErrorKind::usage, fmt::format("--{} must be the number of checkpoints to average, at least 1",
                                       options.given("last") ? "last" : "best"));
  if (of_run && r.paths.size() != 1)
    fail(ErrorKind::usage,
         fmt::format("--last and --best choose among the checkpoints of one run: give one folder, not {}",
                     r.paths.size()));
  if (!of_run && r.paths.size() < 2 && (r.paths.empty() || r.precision != StoredPrecision::int8))
    fail(ErrorKind::usage,
         "too few checkpoints: give at least two (one with --precision int8), or a run's folder with --last N or "
         "--best N");
  return true;
}

std::string root_of_run(const std::string& run) {
  if (!fs::is_directory(run)) fail(ErrorKind::checkpoint, fmt::format("{}: there is no such folder", run));
  return fs::is_directory(run + "/checkpoints") ? run + "/checkpoints" : run;
}

[[noreturn]] void too_few(const std::string& run, size_t found, const char* what, const char* option, int64_t wanted) {
  fail(ErrorKind::usage,
       fmt::format("--{} {} is too large, because {} contains only {} {}{}; give a smaller number, or change "
                   "train.save_every or {}",
                   option, wanted, run, found, what, found == 1 ? "" : "s",
                   option == std::string("last") ? "train.keep_last" : "train.keep_best_checkpoints"));
}

using Leases = std::vector<CheckpointLease>;  // a run that is training must not remove what is averaged

Leases checkpoints_of_run(const std::string& run) {
  Leases checkpoints = lease_step_folders(root_of_run(run));
  if (checkpoints.empty())
    fail(ErrorKind::checkpoint, fmt::format("{} contains no checkpoint: give the folder of a run", run));
  return checkpoints;
}

Leases last_of_run(const std::string& run, int64_t count) {
  Leases checkpoints = checkpoints_of_run(run);
  if (std::ssize(checkpoints) < count) too_few(run, checkpoints.size(), "checkpoint", "last", count);
  checkpoints.resize(static_cast<size_t>(count));
  return checkpoints;
}

TrainState state_of(const std::string& folder) { return TrainState::from_json(read_checkpoint_state(folder), folder); }

// Ranks the checkpoints by the metric of the newest one, with values from the log. On a tie, the later checkpoint wins.
Leases best_of_run(const std::string& run, int64_t count) {
  Leases checkpoints = checkpoints_of_run(run);
  const std::string log = run + "/log.jsonl";
  if (!fs::exists(log))
    fail(ErrorKind::usage,
         fmt::format("--best needs the scores in {}, which does not exist: give a run's folder, or use --last", log));
  std::optional<BestRule> rule = BestRule::read(state_of(checkpoints.front().folder).best.metric);
  if (!rule) rule = BestRule::read("loss");
  std::map<int64_t, double> scores;  // higher is better
  for_each_scored_record(log, [&](const nlohmann::json& record) {
    if (const auto value = rule->value([&](const std::string& key) { return number_at(record, key); }))
      scores[record.at("step").get<int64_t>()] = *value;
  });
  std::vector<std::tuple<double, std::string, CheckpointLease*>> scored;
  for (CheckpointLease& checkpoint : checkpoints)
    if (const auto found = scores.find(step_of_checkpoint(checkpoint.folder)); found != scores.end())
      scored.emplace_back(found->second, checkpoint.folder, &checkpoint);
  if (scored.empty())
    fail(ErrorKind::usage,
         fmt::format("--best: no checkpoint of {} has a validation with the metric {}; use --last", run, rule->text()));
  if (std::ssize(scored) < count) too_few(run, scored.size(), "validated checkpoint", "best", count);
  std::sort(scored.rbegin(), scored.rend());
  scored.resize(static_cast<size_t>(count));
  Leases best;
  for (const auto& [score, folder, checkpoint] : scored) best.push_back(std::move(*checkpoint));
  return best;
}

// Returns the checkpoints in the order of their steps, so that the order of the arguments does not matter.
Leases chosen(const AverageRequest& r) {
  Leases checkpoints;
  if (r.last > 0) {
    checkpoints = last_of_run(r.paths.front(), r.last);
  } else if (r.best > 0) {
    checkpoints = best_of_run(r.paths.front(), r.best);
  } else {
    for (const std::string& path : r.paths) checkpoints.push_back(lease_checkpoint(path));
  }
  std::map<std::pair<int64_t, std::string>, CheckpointLease> by_step;
  for (CheckpointLease& checkpoint : checkpoints) {
    const std::string folder = checkpoint.folder, real = fs::canonical(folder).string();
    if (!by_step.emplace(std::pair(read_checkpoint_manifest(folder).step, real), std::move(checkpoint)).second)
      fail(ErrorKind::usage, fmt::format("the checkpoint {} is given twice", folder));
  }
  checkpoints.clear();
  for (auto& [place, checkpoint] : by_step) checkpoints.push_back(std::move(checkpoint));
  return checkpoints;
}

// Compares options because the shapes of tensors do not show all options (for example, the number of heads).
void require_same_options(const std::string& folder, const std::string& other) {
  for (const ChangedOption& o : changed_options(kept_config(folder), kept_config(other)))
    if (o.name.starts_with("model.") && !o.name.starts_with("model.dropout"))
      fail(ErrorKind::checkpoint, fmt::format("{} and {} belong to different models: {} is {} and {}, respectively",
                                              folder, other, o.name, printable(o.from), printable(o.to)));
}

// True if the folder contains only checkpoints without optimizer state, as written by `weft average` and `weft import`.
bool holds_weights_alone(const std::string& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (is_temporary_name(name)) continue;
    if (!step_of_folder(name) || !fs::is_regular_file(entry.path() / kManifestName)) return false;
    const CheckpointManifest manifest = read_checkpoint_manifest(entry.path().string());
    for (const auto& [file, digest] : manifest.files)
      if (file.starts_with("optimizer")) return false;
  }
  return true;
}

void make_room(const AverageRequest& r, const std::vector<std::string>& folders) {
  std::error_code error;
  if (step_of_folder(fs::path(r.output).filename().string()))
    fail(ErrorKind::usage,
         fmt::format("--output {} has a name reserved for checkpoints of runs: give a different name", r.output));
  if (!fs::exists(fs::symlink_status(r.output, error))) return;
  if (!fs::is_directory(r.output)) fail(ErrorKind::usage, fmt::format("--output {} is not a folder", r.output));
  remove_left_behind_in(r.output, [](const std::string& name) { return step_of_folder(name).has_value(); });
  if (fs::is_empty(r.output)) return;
  if (!r.force)
    fail(ErrorKind::usage,
         fmt::format("--output {} already exists: give a new folder, or --force to replace an average", r.output));
  if (!holds_weights_alone(r.output))
    fail(ErrorKind::usage,
         fmt::format("--output {} is not replaced, because it contains more than an average: give a new folder",
                     r.output));
  for (const std::string& folder : folders)
    if (fs::equivalent(fs::path(folder).parent_path(), r.output, error))
      fail(ErrorKind::usage,
           fmt::format("--output {} contains {}, which is to be averaged: give a new folder", r.output, folder));
}

// Returns a temporary name if an earlier average must stay in place until the new average is complete.
std::string folder_to_write(const std::string& output) {
  remove_left_behind(output);
  if (!fs::exists(output) || fs::is_empty(output)) return output;
  return temporary_name(output);
}

// Returns the configuration of `folder`, without adapters, because the mean contains them in its matrices.
std::string config_of_mean(const std::string& folder) {
  RunConfig config = kept_config(folder);
  if (!config.model.lora.on()) return read_file(folder + "/" + kConfigFile);
  config.model.lora = {};
  return to_cfg(config);
}

Int8Rows int8_rows_of(const std::string& folder) {
  ModelConfig config = kept_config(folder).model;
  config.lora = {};  // merged
  config.resolve(/*tp=*/1);
  ParamStore params(/*tp_rank=*/0, /*tp_size=*/1);
  const Transformer declared(config, params, /*num_positions=*/1);
  Int8Rows rows;
  for (const Param& p : params.params())
    if (p.spec.matrix) rows[p.spec.name] = int8_row(p);
  return rows;
}

void print_mean(const AverageRequest& r, const std::string& made, const std::vector<std::string>& folders,
                StoredWeights which) {
  const bool in_int8 = r.precision == StoredPrecision::int8;
  fmt::print("{}: the mean of {} checkpoint{}{}\n", made, folders.size(), folders.size() == 1 ? "" : "s",
             in_int8 ? ", in int8" : "");
  for (const std::string& source : folders)
    fmt::print("  {}{}\n", source,
               which == StoredWeights::evaluation && has_average(source) ? "  (its moving average)" : "");
  fmt::print("  use it:    weft translate --checkpoint {}{}\n", r.output, in_int8 ? " --precision int8" : "");
}

}  // namespace

int run_average(const CommandContext& context) {
  AverageRequest request;
  if (!parse(context.args, request)) return 0;
  const Leases checkpoints = chosen(request);
  std::vector<std::string> folders;
  for (const CheckpointLease& checkpoint : checkpoints) folders.push_back(checkpoint.folder);
  for (const std::string& folder : folders) require_same_options(folders.front(), folder);
  const auto averaged = std::ranges::find_if(folders, has_average);
  const StoredWeights which =
      weights_to_use(request.raw_weights, averaged == folders.end() ? folders.back() : *averaged);
  make_room(request, folders);
  const TrainState last = state_of(folders.back());
  nlohmann::json state = TrainState{.step = last.step, .precision = last.precision}.to_json();
  for (const std::string& folder : folders) state["averaged"].push_back(folder);

  const std::string root = folder_to_write(request.output);
  const FileDescriptor lock = root == request.output ? FileDescriptor() : make_temporary_folder(root);
  std::optional<ProgressBar> bar;
  const auto show = [&](int64_t done, int64_t total) {
    if (!bar) bar.emplace("averaging", "tensors", total, ProgressOutput::standard(request.quiet));
    bar->update(done);
  };
  AverageContents contents{.state = state, .config = config_of_mean(folders.back())};
  if (request.precision == StoredPrecision::int8) contents.int8_rows = int8_rows_of(folders.back());
  const std::string made = average_checkpoints(folders, which, root, contents, show);
  if (root != request.output) replace_folder(root, request.output);
  print_mean(request, request.output + "/" + fs::path(made).filename().string(), folders, which);
  return 0;
}

}  // namespace weft
