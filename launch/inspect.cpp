// launch/inspect.cpp: `weft inspect PATH`: finds out what lies there and shows it; `weft inspect model` and `positions`
// have options of their own.
#include "launch/inspect.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data/manifest.h"
#include "launch/commands.h"
#include "launch/config_io.h"
#include "launch/options.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::vector<std::string> paths;
  int64_t pairs = 0, vocabulary = 0;
  bool chart = false;
};

bool parse(const std::vector<std::string>& args, Request& r) {
  Options options("inspect PATH [options], or inspect model|positions [PATH] [options]");
  options.positional("PATH", r.paths,
                     "a packed corpus or one of its shards; a checkpoint; a run's folder; a .cfg file (its model)");
  options.add("pairs", r.pairs, "of a corpus or shard: show so many of its first pairs as text");
  options.add("vocabulary", r.vocabulary,
              "of a .cfg file that names no vocabulary: entries of both, in place of its corpus'");
  options.add("chart", r.chart, "of a run: draw loss and BLEU over its steps");
  if (!options.parse(args)) return false;
  if (r.paths.empty()) fail(ErrorKind::usage, "PATH is missing; usage: weft inspect PATH");
  if (r.pairs < 0) fail(ErrorKind::usage, fmt::format("pairs = {}: give 0 or more", r.pairs));
  if (r.vocabulary < 0) fail(ErrorKind::usage, fmt::format("vocabulary = {}: give 0 or more", r.vocabulary));
  return true;
}

void inspect_file(const fs::path& path, const Request& r) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (path.filename() == kManifestFile) return inspect_corpus(folder.string(), r.pairs);
  if (path.extension() == ".cfg") return inspect_model(path.string(), {.vocabulary = r.vocabulary});
  if (path.extension() == ".h5") return inspect_shard(path.string(), r.pairs);
  fail(ErrorKind::usage, fmt::format("{} is neither a .cfg file nor a shard of a packed corpus", path.string()));
}

void inspect_folder(const fs::path& path, const Request& r) {
  if (fs::exists(path / kManifestFile)) return inspect_corpus(path.string(), r.pairs);
  if (fs::exists(path / kManifestName) || step_of_folder(path.filename().string()))
    return inspect_checkpoint(path.string());
  if (fs::exists(path / "log.jsonl")) return inspect_run(path.string(), r.chart);
  inspect_checkpoint(resolve_checkpoint(path.string()));
}

}  // namespace

FoundConfig find_config(const std::string& path) {
  if (!fs::exists(path)) fail(ErrorKind::usage, fmt::format("{}: there is no such file or folder", path));
  FoundConfig found;
  if (fs::is_directory(path)) found.checkpoint = resolve_checkpoint(fs::path(path).lexically_normal().string());
  apply_cfg_file(found.checkpoint.empty() ? path : found.checkpoint + "/config.cfg", found.config);
  return found;
}

int run_inspect(const CommandContext& context) {
  if (!context.args.empty()) {  // a file or folder of such a name is ./model, ./positions
    const std::vector<std::string> rest(context.args.begin() + 1, context.args.end());
    if (context.args[0] == "model") return run_inspect_model(rest);
    if (context.args[0] == "positions") return run_inspect_positions(rest);
  }
  Request request;
  if (!parse(context.args, request)) return 0;
  for (const std::string& path : request.paths) {
    if (!fs::exists(path)) fail(ErrorKind::usage, fmt::format("{}: there is no such file or folder", path));
    if (fs::is_directory(path)) {
      inspect_folder(fs::path(path).lexically_normal(), request);
    } else {
      inspect_file(path, request);
    }
  }
  return 0;
}

}  // namespace weft
