// launch/options/run_options.cpp: parses the arguments twice: to find the .cfg file, and to override its options.
#include "launch/options/run_options.h"

#include <filesystem>
#include <system_error>

#include "launch/options/options.h"
#include "tensor/error.h"
#include "trainer/config/config_text.h"

namespace weft {
namespace {

// Creates the stages named by --stage.NAME options. For --help, creates a stage called NAME if there are no others.
void add_stages_of_arguments(const std::vector<std::string>& args, RunConfig& config) {
  for (const std::string& arg : args) {
    if (arg.starts_with("--help") && config.stages.empty())
      config.stages.push_back({.name = "NAME", .has_schedule = true});
    if (arg.starts_with("--stage.")) add_stage_of(arg.substr(2, arg.find('=') - 2), config);
  }
}

// The config.cfg of a run and of each of its checkpoints names the run's folder. In a copy of that folder it still
// names the original run, which this command would change.
void require_own_folder(const std::filesystem::path& file, const std::string& output) {
  namespace fs = std::filesystem;
  std::error_code missing;
  fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const fs::path checkpoints = fs::absolute(folder, missing).lexically_normal().parent_path();
  if (checkpoints.filename() == "checkpoints") folder = checkpoints.parent_path();
  if (file.filename() != "config.cfg" || !fs::exists(folder / "log.jsonl", missing)) return;
  if (fs::equivalent(folder, output, missing)) return;
  fail(ErrorKind::usage,
       fmt::format(
           "{} belongs to the run in {}, but its train.output = {} is a different folder: add --train.output={} to "
           "resume the run in {}, or --train.output=FOLDER for a new run",
           file.string(), folder.string(), output, folder.string(), folder.string()));
}

}  // namespace

bool read_run_config(const std::vector<std::string>& args, RunConfig& config, bool& dry_run) {
  std::string file;
  bool names_output = false;
  const auto parse = [&](RunConfig& into) {
    dry_run = false;
    add_stages_of_arguments(args, into);
    Options options(
        "train --config FILE [--section.key=value ...]\n\n"
        "Trains a model, or resumes the run in train.output. Use weft launch to train on several ranks.\n\n"
        "  weft train --config configs/multi30k.cfg --train.minutes=60");
    options.add("config", file, ".cfg file with options; options on the command line override it");
    options.add("dry-run", dry_run, "print the plan (parameters, grid, memory, blocks), then exit");
    options.sections(into);
    options.show_first({"config", "data.train", "data.valid", "train.output", "train.minutes", "train.steps",
                        "train.epochs", "train.tokens", "batch.tokens", "schedule.lr", "train.init", "train.precision",
                        "parallel.tp", "device", "dry-run"});
    const bool parsed = options.parse(args);
    names_output = options.given("train.output");
    return parsed;
  };
  RunConfig looked_at;
  if (!parse(looked_at)) return false;
  if (!file.empty()) apply_cfg_file(file, config);
  parse(config);
  if (!file.empty() && !names_output) require_own_folder(file, config.train.output);
  require_writable(config);
  return true;
}

}  // namespace weft
