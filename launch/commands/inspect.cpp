// launch/commands/inspect.cpp: `weft inspect PATH` detects the kind of a file or folder and shows its contents. `weft
// inspect model` is a separate command. To inspect a file named model, write ./model.
#include "launch/commands/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/shards/manifest.h"
#include "launch/commands.h"
#include "launch/options/options.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct InspectRequest {
  std::vector<std::string> paths;
  int64_t pairs = 0, vocabulary = 0;
  RunView run;
};

constexpr const char* kOptionsOfRuns[] = {"chart", "curve", "over", "tensorboard", "html"};

// Describes a file or folder: the name of its kind in messages, the options that apply, and the function that shows it.
struct Thing {
  const char* name;
  std::vector<std::string> options;
  std::function<void(const InspectRequest&)> show;
};

bool parse(const std::vector<std::string>& args, InspectRequest& r, Options& options) {
  options.positional("PATH", r.paths,
                     "packed corpus, shard, checkpoint, folder of a run, or .cfg file (whose model is shown)");
  options.add("pairs", r.pairs, "corpus or shard: show this many pairs from the start as text");
  options.add("vocabulary", r.vocabulary, ".cfg file: size of each vocabulary, needed if data.train does not exist");
  options.add("chart", r.run.chart, "run: draw a chart of loss and BLEU");
  options.add("curve", r.run.curve,
              "run: one or two values of the log that --chart draws instead of loss and BLEU, for example lr,grad_norm "
              "or news.bleu,corpus_nll.FOLDER; for a list of all names, give an unknown name");
  options.add("over", r.run.over, "run: what --chart shows on its horizontal axis (steps, target tokens or hours)");
  options.add("tensorboard", r.run.tensorboard,
              "runs: write the log as a TensorBoard event file to this folder, or to one subfolder per run");
  options.add("html", r.run.html,
              "runs: write one HTML page that compares the runs' curves, samples, attention and configurations");
  if (!options.parse(args)) return false;
  if (r.paths.empty()) fail(ErrorKind::usage, "PATH is missing; usage: weft inspect PATH");
  if (r.pairs < 0) fail(ErrorKind::usage, fmt::format("--pairs must be at least 0, but is {}", r.pairs));
  if (r.vocabulary < 0) fail(ErrorKind::usage, fmt::format("--vocabulary must be at least 0, but is {}", r.vocabulary));
  for (const auto& [option, name] : {std::pair{"html", &r.run.html}, {"tensorboard", &r.run.tensorboard}})
    if (options.given(option) && name->empty()) fail(ErrorKind::usage, fmt::format("--{} has no value", option));
  for (const char* option : {"curve", "over"})
    if (options.given(option) && !r.run.chart) fail(ErrorKind::usage, fmt::format("--{} needs --chart", option));
  return true;
}

Thing corpus_in(const std::string& folder) {
  return {"a packed corpus", {"pairs"}, [=](const InspectRequest& r) { inspect_corpus(folder, r.pairs); }};
}

Thing thing_of_file(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string file = path.string();
  if (path.filename() == kManifestFile) return corpus_in(folder.string());
  if (path.extension() == ".cfg")
    return {"a configuration", {"vocabulary"}, [=](const InspectRequest& r) {
              inspect_model(file, {.vocabulary = r.vocabulary});
            }};
  if (path.extension() == ".h5")
    return {"a shard", {"pairs"}, [=](const InspectRequest& r) { inspect_shard(file, r.pairs); }};
  fail(ErrorKind::usage, fmt::format("{} is neither a .cfg file nor a shard of a packed corpus", file));
}

Thing thing_of_folder(const fs::path& path) {
  const std::string folder = path.string();
  if (fs::exists(path / kManifestFile)) return corpus_in(folder);
  const bool is_step = fs::exists(path / kManifestName) || step_of_folder(path.filename().string());
  if (!is_step && fs::exists(path / "log.jsonl"))
    return {"a run", {std::begin(kOptionsOfRuns), std::end(kOptionsOfRuns)}, [=](const InspectRequest& r) {
              inspect_run(folder, r.run);
            }};
  if (!is_step && fs::exists(path / "config.cfg") && !fs::exists(path / "checkpoints"))
    fail(ErrorKind::usage, fmt::format("{} is a run without log.jsonl, so there are no steps to show", folder));
  return {is_step ? "a checkpoint" : "checkpoints without log.jsonl",
          {},
          [lease = std::make_shared<CheckpointLease>(lease_checkpoint(folder))](const InspectRequest&) {
            inspect_checkpoint(lease->folder);
          }};
}

Thing thing_at(const std::string& path) {
  if (!fs::exists(path)) fail(ErrorKind::usage, fmt::format("{}: there is no such file or folder", path));
  return fs::is_directory(path) ? thing_of_folder(fs::path(path).lexically_normal()) : thing_of_file(path);
}

void check_used(const Options& options, const std::string& path, const Thing& thing) {
  std::vector<std::string> all{"pairs", "vocabulary"};
  all.insert(all.end(), std::begin(kOptionsOfRuns), std::end(kOptionsOfRuns));
  for (const std::string& option : all)
    if (options.given(option) && std::ranges::find(thing.options, option) == thing.options.end())
      fail(ErrorKind::usage, fmt::format("--{} does not apply to {}, which is {}", option, path, thing.name));
}

}  // namespace

int run_inspect(const CommandContext& context) {
  InspectRequest request;
  Options options(
      "inspect PATH ... [options], or inspect model PATH ... [options]\n\n"
      "Shows the contents of a file or folder that Weft wrote, or the model of a .cfg file.\n\n"
      "  weft inspect runs/mine --chart                        the last steps and validations, and a chart\n"
      "  weft inspect runs/one runs/two --html compared.html   a page that compares two runs");
  if (!parse(context.args, request, options)) return 0;
  std::vector<Thing> things;
  for (const std::string& path : request.paths) {
    things.push_back(thing_at(path));
    check_used(options, path, things.back());
  }
  const bool writes_files = !request.run.html.empty() || !request.run.tensorboard.empty();
  if (!writes_files || request.run.chart)
    for (const Thing& thing : things) thing.show(request);
  if (writes_files) write_views_of_runs(request.paths, request.run);
  return 0;
}

}  // namespace weft
