// launch/commands/evaluate.cpp: `weft evaluate` translates and scores test sets, and prints a table or JSON.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "data/atomic_file.h"
#include "data/audit/audit.h"
#include "data/create_folder.h"
#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/decode_options.h"
#include "launch/options/options.h"
#include "launch/options/tag_options.h"
#include "launch/reports/audit_report.h"
#include "launch/reports/metric.h"
#include "launch/reports/scored_lines.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"
#include "trainer/inference/document_translator.h"
#include "trainer/inference/evaluate.h"
#include "trainer/stages/stages.h"

namespace weft {
namespace {

struct EvaluateRequest {
  ModelRequest model;
  std::string output;
  std::vector<std::string> sources, references, names;
  DecodeConfig decode;
  BleuTokenizer tokenizer = BleuTokenizer::automatic;
  TagRequest tags;
  int64_t documents = 0;
  int64_t samples = 0;
  bool json = false, confidence = false;
};

struct TestSet {
  std::string name;
  std::vector<std::string> sources, references, translations;
  TranslationScore score;
  int64_t num_cut = 0;  // sources that were cut because they were too long for the model
  int64_t leaked = 0;   // lines that an audit found in the training text
  std::optional<Interval> bleu_interval, chrf_interval;
};

bool parse(const std::vector<std::string>& args, EvaluateRequest& r, Options& options) {
  r.model.add_to(options);
  options.add("source", r.sources, "text to translate, one sentence per line; repeat the option for several sets");
  options.add("reference", r.references, "reference translation; the n-th reference belongs to the n-th source");
  options.add("name", r.names, "name of a set; the n-th name belongs to the n-th source; default: the file's name");
  options.add("output", r.output, "folder for the translations, with one file NAME.txt per set");
  options.add("samples", r.samples, "number of translations per set to show with their sources and references");
  options.add("confidence", r.confidence, "print the 95 % bootstrap confidence interval of each score");
  options.add("json", r.json, "print one JSON object instead of text");
  r.tags.add_to(options);
  options.add("documents", r.documents,
              "translate consecutive lines together, up to this many source tokens; 0 = line by line");
  options.add("tokenize", r.tokenizer, kTokenizerHelp);
  add_decode_options(options, r.decode);
  options.show_first({"checkpoint", "source", "reference", "output", "samples", "json", "beam", "precision"});
  if (!options.parse(args)) return false;
  for (const char* name : {"checkpoint", "source", "reference"}) options.require(name);
  if (r.sources.size() != r.references.size() || (!r.names.empty() && r.names.size() != r.sources.size()))
    fail(ErrorKind::usage, fmt::format("--source is given {} times, --reference {} times, --name {} times: give each "
                                       "option once per set (you can leave out all names)",
                                       r.sources.size(), r.references.size(), r.names.size()));
  if (r.documents < 0) fail(ErrorKind::usage, fmt::format("--documents must be at least 0, but is {}", r.documents));
  if (r.samples < 0) fail(ErrorKind::usage, fmt::format("--samples must be at least 0, but is {}", r.samples));
  return true;
}

std::vector<std::string> names_of_sets(const EvaluateRequest& r) {
  std::vector<std::string> names = r.names;
  if (names.empty())
    for (const std::string& source : r.sources) names.push_back(std::filesystem::path(source).filename().string());
  std::set<std::string> seen;
  for (const std::string& name : names)
    if (name.empty() || name.find('/') != std::string::npos || !seen.insert(name).second)
      fail(ErrorKind::usage,
           fmt::format("'{}' cannot be the name of a set: give each set a different --name without slashes", name));
  return names;
}

std::string output_file(const std::string& folder, const std::string& name) { return folder + "/" + name + ".txt"; }

void refuse_output_over_input(const EvaluateRequest& r, const std::vector<std::string>& names) {
  if (r.output.empty()) return;
  for (const std::string& name : names) {
    const std::string output = output_file(r.output, name);
    for (const auto& [option, files] : {std::pair{"source", &r.sources}, {"reference", &r.references}})
      for (const std::string& file : *files) {
        std::error_code not_there;
        if (std::filesystem::equivalent(output, file, not_there))
          fail(ErrorKind::usage,
               fmt::format("--output {} would overwrite --{} {}: give a different folder, or a different --name for "
                           "the set",
                           r.output, option, file));
      }
  }
}

std::vector<TestSet> read_sets(Communicator& world, const EvaluateRequest& r, const std::vector<std::string>& names) {
  std::vector<TestSet> sets;
  for (size_t i = 0; i < r.sources.size(); ++i) {
    TestSet set{.name = names[i]};
    set.sources = lines_of_rank0(world, [&] { return read_text_file(r.sources[i]); });
    set.references = lines_of_rank0(world, [&] { return read_scored_file(r.references[i]); });
    if (set.sources.empty() || set.sources.size() != set.references.size())
      fail(ErrorKind::data, fmt::format("{} has {} lines and {} has {}: each sentence needs one line in both files",
                                        r.sources[i], set.sources.size(), r.references[i], set.references.size()));
    sets.push_back(std::move(set));
  }
  return sets;
}

// Spreads the samples evenly over the set.
std::vector<size_t> sample_indices(const TestSet& set, int64_t count) {
  const size_t total = set.sources.size(), wanted = std::min(static_cast<size_t>(count), total);
  std::vector<size_t> indices;
  for (size_t i = 0; i < wanted; ++i) indices.push_back((2 * i + 1) * total / (2 * wanted));
  return indices;
}

nlohmann::ordered_json to_json(const TestSet& set, int64_t num_samples) {
  const BleuScore& b = set.score.bleu;
  nlohmann::ordered_json json{{"name", set.name},
                              {"sentences", set.score.sentences},
                              {"sources_cut", set.num_cut},
                              {"bleu", b.score},
                              {"bleu_signature", b.signature},
                              {"bleu_precisions", b.precisions},
                              {"brevity_penalty", b.brevity_penalty},
                              {"hypothesis_length", b.stats.hypothesis_length},
                              {"reference_length", b.stats.reference_length},
                              {"chrf", set.score.chrf.score},
                              {"chrf_signature", set.score.chrf.signature}};
  if (set.leaked > 0) json["lines_in_training_text"] = set.leaked;
  for (const auto& [name, interval] :
       {std::pair{"bleu_confidence", set.bleu_interval}, {"chrf_confidence", set.chrf_interval}})
    if (interval) json[name] = {{"mean", interval->mean}, {"half_width", interval->half_width}};
  for (const size_t i : sample_indices(set, num_samples))
    json["samples"].push_back({{"line", i + 1},
                               {"source", set.sources[i]},
                               {"reference", set.references[i]},
                               {"translation", set.translations[i]}});
  return json;
}

void print_samples(const TestSet& set, int64_t count) {
  for (const size_t i : sample_indices(set, count))
    fmt::print("\n{}, line {}\n  source       {}\n  translation  {}\n  reference    {}\n", set.name, i + 1,
               set.sources[i], set.translations[i], set.references[i]);
}

void print_text(const std::vector<TestSet>& sets, const LoadedModel& model, int64_t samples) {
  size_t width = 4;
  for (const TestSet& set : sets) width = std::max(width, set.name.size());
  const int score_width = sets.front().bleu_interval ? 13 : 6;
  fmt::print("{}, step {}\n\n{:<{}} {:>9} {:>{}} {:>{}}\n", model.folder(), model.step(), "set", width, "sentences",
             "BLEU", score_width, "chrF2", score_width);
  const auto text = [](double score, const std::optional<Interval>& interval) {
    return interval ? fmt::format("{:.2f} ± {:.2f}", score, interval->half_width) : fmt::format("{:.2f}", score);
  };
  for (const TestSet& set : sets)
    fmt::print("{:<{}} {:>9} {:>{}} {:>{}}\n", set.name, width, set.score.sentences,
               text(set.score.bleu.score, set.bleu_interval), score_width,
               text(set.score.chrf.score, set.chrf_interval), score_width);
  for (const TestSet& set : sets)
    fmt::print("\n{}\n  {}\n  {}\n", set.name, format(set.score.bleu), format(set.score.chrf));
  for (const TestSet& set : sets) print_samples(set, samples);
}

void print_json(const std::vector<TestSet>& sets, const LoadedModel& model, int64_t samples) {
  nlohmann::ordered_json json{{"checkpoint", model.folder()}, {"step", model.step()}};
  for (const TestSet& set : sets) json["sets"].push_back(to_json(set, samples));
  fmt::print("{}\n", json.dump(2));
}

void prepare_folder(const std::vector<TestSet>& sets, const std::string& folder) {
  create_folder(folder);
  for (const TestSet& set : sets) prepare_output(output_file(folder, set.name));
}

void keep_translations(const std::vector<TestSet>& sets, const std::string& folder) {
  for (const TestSet& set : sets) {
    std::string text;
    for (const std::string& line : set.translations) text += line + '\n';
    write_file_atomically(output_file(folder, set.name), text);
    print_note("weft: {}: {} translations\n", output_file(folder, set.name), set.translations.size());
  }
}

// Fills in the translations, the number of cut lines and the scores of each set. Shows progress unless `quiet`.
void translate_and_score(std::vector<TestSet>& sets, Translator& translator, const EvaluateRequest& request,
                         bool quiet) {
  std::optional<DocumentTranslator> documents;
  if (request.documents > 0) documents.emplace(translator, request.documents);
  for (TestSet& set : sets) {
    ProgressBar bar("translating " + set.name, "sentences", static_cast<int64_t>(set.sources.size()),
                    ProgressOutput::standard(quiet));
    const int64_t num_cut_before = translator.num_cut();
    std::vector<TranslationInput> inputs;
    for (const std::string& line : set.sources) inputs.push_back(translator.encode(request.tags.line(line)));
    const auto progress = [&](int64_t done) { bar.update(done); };
    const std::vector<NBest> found =
        documents ? documents->translate(inputs, progress) : translator.translate_inputs(inputs, progress);
    set.translations = best_texts(found);
    set.num_cut = translator.num_cut() - num_cut_before;
    set.score = score_translations(set.translations, set.references, request.tokenizer);
  }
}

// As `weft bleu --confidence` computes it.
Interval interval_of(const Metric& metric, const TestSet& set) {
  SystemStats stats{.score = metric.score};
  stats.systems.push_back(segment_stats(metric, set.translations, {set.references}, [] {}));
  return bootstrap_intervals(stats, {}).front().interval.value();
}

void add_intervals(std::vector<TestSet>& sets, BleuTokenizer tokenizer) {
  for (TestSet& set : sets) {
    set.bleu_interval = interval_of(bleu_metric({.tokenizer = chosen_tokenizer(tokenizer, set.references)}, 1), set);
    set.chrf_interval = interval_of(chrf_metric({}, 1), set);
  }
}

// Looks for the test sets in the audits of the corpora on which the model was trained.
void look_for_leaks(std::vector<TestSet>& sets, const RunConfig& config) {
  const std::vector<std::string> folders = training_folders(parse_stages(config));
  for (TestSet& set : sets)
    set.leaked = warn_of_leaks(set.name, {digest_of(set.sources), digest_of(set.references)}, folders);
}

void print_cut_lines(const std::vector<TestSet>& sets, const Translator& translator) {
  for (const TestSet& set : sets)
    if (set.num_cut > 0)
      print_note("weft: {}: lines that were longer than {} tokens and were cut: {}\n", set.name,
                 translator.longest_source(), set.num_cut);
}

}  // namespace

int run_evaluate(const CommandContext& context) {
  EvaluateRequest request;
  Options options(
      "evaluate --checkpoint PATH --source FILE --reference FILE [--source FILE2 --reference FILE2 ...]\n\n"
      "Translates one or more test sets and prints BLEU and chrF of the translations.\n\n"
      "  weft evaluate --checkpoint runs/mine --source test.en --reference test.de --samples 5");
  if (!parse(context.args, request, options)) return 0;
  Communicator& world = *context.world;
  const bool is_main_rank = world.is_main_rank();
  const std::vector<std::string> names = names_of_sets(request);
  all_or_none(world, [&] {
    require_tokenizer(request.tokenizer);
    if (is_main_rank) refuse_output_over_input(request, names);
  });
  std::vector<TestSet> sets = read_sets(world, request, names);
  const CheckpointLease lease = find_checkpoint(world, request.model.checkpoint);
  const std::string& folder = lease.folder;
  const RunConfig config = config_for_use(folder, request.model.parallel, world.size());
  complete_decode_options(options, config.decode, request.decode);
  all_or_none(world, [&] {
    if (is_main_rank && !request.output.empty()) prepare_folder(sets, request.output);
  });
  const Mesh mesh = mesh_for_use(request.model, config, world);
  LoadedModel model = request.model.load(folder, config, mesh);
  Translator translator(model.replica(), model.source_tokenizer(), model.target_tokenizer(), request.decode);
  request.tags.check(translator.source_tokenizer(), translator.target_tokenizer());
  translate_and_score(sets, translator, request, request.model.quiet || !is_main_rank);
  if (!is_main_rank) return 0;
  print_cut_lines(sets, translator);
  look_for_leaks(sets, config);
  if (request.confidence) add_intervals(sets, request.tokenizer);
  if (!request.output.empty()) keep_translations(sets, request.output);
  (request.json ? print_json : print_text)(sets, model, request.samples);
  return 0;
}

}  // namespace weft
