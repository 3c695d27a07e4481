// launch/commands/translate.cpp: `weft translate` translates standard input or files, line by line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "launch/commands.h"
#include "launch/options/options.h"
#include "launch/translation_job.h"
#include "tensor/error.h"

namespace weft {
namespace {

void add_files(TranslateRequest& r, Options& options) {
  options.add("input", r.input,
              "text to translate instead of standard input, plain or compressed (gzip, zstd, xz); may be repeated");
  options.add("output", r.output, kOutputSentence);
  options.add(
      "bad-lines", r.bad_lines,
      "what to do about a line that is no UTF-8, contains NUL bytes, is longer than 16 MiB or has wrong columns "
      "or tags: error, or empty = translate an empty line instead, and report it at the end");
}

void check_files(const TranslateRequest& r) {
  if (r.output.empty()) return;
  if (r.alignment.draws())
    fail(ErrorKind::usage, "--output continues after a kill, but drawings do not: leave out --alignment NAME.svg");
  if (std::ranges::find(r.alignment.files, r.output) != r.alignment.files.end())
    fail(ErrorKind::usage, fmt::format("--output and --alignment both name {}", r.output));
}

void check_documents(const TranslateRequest& r) {
  if (r.documents < 0) fail(ErrorKind::usage, fmt::format("--documents must be at least 0, but is {}", r.documents));
  const bool several = r.search.config.decode.nbest > 1 || r.search.samples > 1;
  if (r.documents > 0 && (several || r.alignment.wanted()))
    fail(ErrorKind::usage, "--documents prints only one text per line: leave out --nbest, --samples and --alignment");
  if (r.documents > 0 && !r.target_prefix.empty())
    fail(ErrorKind::usage, "--documents joins lines, but --target-prefix applies to single lines: give one of them");
}

bool parse(const std::vector<std::string>& args, TranslateRequest& r, Options& options) {
  r.model.add_to(options);
  add_files(r, options);
  r.search.add_to(options);
  options.add("scores", r.scores, "print the score and a tab before each translation");
  options.add("json", r.json,
              "print one JSON object per line: text, score, tokens with their log-probabilities, and with --nbest all "
              "translations; see docs/decoding.md");
  r.tags.add_to(options);
  options.add("target-prefix", r.target_prefix, "text at the start of every translation");
  options.add(
      "columns", r.columns,
      "names of the tab-separated input columns, in order: source, tag, target-tag, prefix, - to skip a column, or ... "
      "at the end to skip the rest");
  options.add("documents", r.documents,
              "translate consecutive lines of a document together, up to this many source tokens; an empty line ends a "
              "document; 0 = line by line; see docs/documents.md");
  r.alignment.add_to(options);
  options.add("batch", r.batch,
              "sentences that a rank decodes together; 0 = as many as fit; translations do not depend on this number");
  options.show_first({"checkpoint", "input", "output", "beam", "nbest", "scores", "json", "precision", "tag", "quiet"});
  if (!options.parse(args)) return false;
  options.require("checkpoint");
  r.alignment.check(options);
  check_files(r);
  check_documents(r);
  if (r.json && r.scores) fail(ErrorKind::usage, "--json also prints the scores: leave out --scores");
  if (r.batch < 0) fail(ErrorKind::usage, fmt::format("--batch must be at least 0, but is {}", r.batch));
  return true;
}

std::vector<CheckpointLease> find_checkpoints(Communicator& world, const TranslateRequest& r) {
  std::vector<CheckpointLease> leases;
  leases.push_back(find_checkpoint(world, r.model.checkpoint));
  for (const std::string& path : r.search.ensemble) leases.push_back(find_checkpoint(world, path));
  return leases;
}

ResumableFiles::Job job_of(const Options& options, const TranslateRequest& r,
                           const std::vector<CheckpointLease>& leases, const Mesh& mesh) {
  ResumableFiles::Job job = job_of(options, leases.front().folder, mesh);
  job["--alignment"] = fmt::to_string(fmt::join(r.alignment.files, " "));
  job["--suppress"] = fmt::to_string(fmt::join(r.search.config.suppressed, " "));
  std::vector<std::string> others;
  for (size_t i = 1; i < leases.size(); ++i) others.push_back(name_with_digest(leases[i].folder));
  job["--ensemble"] = fmt::to_string(fmt::join(others, ", "));
  return job;
}

void require_same_vocabularies(const std::vector<LoadedModel>& models) {
  const LoadedModel& first = models.front();
  for (const LoadedModel& m : models)
    if (!same_pieces(m.source_tokenizer(), first.source_tokenizer()) ||
        !same_pieces(m.target_tokenizer(), first.target_tokenizer()))
      fail(ErrorKind::usage,
           fmt::format("--ensemble: the vocabularies of {} and {} differ", first.folder(), m.folder()));
}

}  // namespace

int run_translate(const CommandContext& context) {
  TranslateRequest request;
  Options options(
      "translate --checkpoint PATH [options] < SOURCE > TRANSLATION\n\n"
      "Translates standard input to standard output, line by line, or files of any size.\n\n"
      "  weft translate --checkpoint runs/mine < test.en > translated.de\n"
      "  weft launch -n 8 translate --checkpoint runs/mine --input corpus.en.gz --output corpus.de.gz");
  if (!parse(context.args, request, options)) return 0;
  Communicator& world = *context.world;
  TranslationStreams streams;
  all_or_none(world, [&] {
    if (!world.is_main_rank()) return;
    if (request.input.empty()) require_no_folder_as_input();
    request.alignment.check_files();
    streams.input.emplace(request.input, request.bad_lines);
  });
  const std::vector<CheckpointLease> leases = find_checkpoints(world, request);
  std::vector<RunConfig> configs;
  for (const CheckpointLease& lease : leases)
    configs.push_back(config_for_use(lease.folder, request.model.parallel, world.size()));
  const RunConfig& config = configs.front();
  request.search.complete(options, config.decode);
  request.lines();                                                         // fails before the model is read
  if (request.alignment.wanted()) request.alignment.choice(config.model);  // fails before the model is read
  const Mesh mesh = mesh_for_use(request.model, config, world);
  std::vector<std::string> files;
  if (!request.output.empty()) {
    files = request.alignment.paths();
    files.insert(files.begin(), request.output);
  }
  if (open_output(world, files, job_of(options, request, leases, mesh), streams.output)) return 0;
  std::vector<LoadedModel> models;
  for (size_t i = 0; i < leases.size(); ++i) models.push_back(request.model.load(leases[i].folder, configs[i], mesh));
  require_same_vocabularies(models);
  translate_lines(models, request, streams);
  return 0;
}

}  // namespace weft
