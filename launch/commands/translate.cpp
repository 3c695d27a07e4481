// launch/commands/translate.cpp: `weft translate` translates standard input to standard output, line by line.
//
// Lines are translated in chunks, so that memory does not grow with the input. A chunk contains the lines that can be
// read without waiting, so that a pipe gets its answers immediately. Rank 0 reads and writes. Each dp rank translates a
// share of the sentences of a chunk.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "data/text/text_reader.h"
#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/decode_options.h"
#include "launch/options/options.h"
#include "launch/options/tag_options.h"
#include "launch/reports/alignment_files.h"
#include "launch/reports/json_lines.h"
#include "launch/tagged_lines.h"
#include "tensor/clock.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"
#include "trainer/inference/document_translator.h"
#include "trainer/inference/translator.h"

namespace weft {
namespace {

constexpr size_t kChunkLines = 2000;

struct TranslateRequest {
  ModelRequest model;
  DecodeConfig decode;
  int64_t batch = 0;
  bool scores = false, json = false;
  TagRequest tags;
  std::string target_prefix, columns;
  int64_t documents = 0;
  AlignmentRequest alignment;
  TaggedLines lines() const { return TaggedLines(tags, target_prefix, columns); }
};

void check_documents(const TranslateRequest& r) {
  if (r.documents < 0) fail(ErrorKind::usage, fmt::format("--documents must be at least 0, but is {}", r.documents));
  if (r.documents > 0 && (r.decode.nbest > 1 || r.alignment.wanted()))
    fail(ErrorKind::usage, "--documents prints only one text per line: leave out --nbest and --alignment");
  if (r.documents > 0 && !r.target_prefix.empty())
    fail(ErrorKind::usage, "--documents joins lines, but --target-prefix applies to single lines: give one of them");
}

bool parse(const std::vector<std::string>& args, TranslateRequest& r, Options& options) {
  r.model.add_to(options);
  add_decode_options(options, r.decode);
  options.add("nbest", r.decode.nbest,
              "number of translations per sentence; above 1, each output line is `index ||| text ||| score`");
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
  options.show_first({"checkpoint", "beam", "nbest", "scores", "json", "precision", "tag", "quiet"});
  if (!options.parse(args)) return false;
  options.require("checkpoint");
  r.alignment.check(options);
  check_documents(r);
  if (r.json && r.scores) fail(ErrorKind::usage, "--json also prints the scores: leave out --scores");
  if (r.batch < 0) fail(ErrorKind::usage, fmt::format("--batch must be at least 0, but is {}", r.batch));
  return true;
}

// Waits for one line or the end of the input, and takes further lines only if they can be read without waiting.
std::vector<std::string> read_chunk(TextReader& input, const TaggedLines& format, const Translator& translator) {
  std::vector<std::string> lines;
  for (std::string line; lines.size() < kChunkLines && (lines.empty() || input.ready()) && input.next(line);) {
    format.check(line, input.num_lines(), translator);
    lines.push_back(line);
  }
  return lines;
}

using Links = std::vector<std::vector<AlignmentLink>>;  // by line

// Computes the alignment of each line's best translation, and writes it to the files on rank 0.
class AlignmentKeeper {
 public:
  AlignmentKeeper(LoadedModel& model, const AlignmentRequest& request)
      : aligner_(model.replica(), request.choice(model.config().model)) {
    all_or_none(model.replica().mesh().world(), [&] {
      if (!model.replica().mesh().world().is_main_rank()) return;
      for (const std::string& path : request.files)
        if (path != AlignmentRequest::kInJson)
          files_.push_back(open_alignment_file(path, model.source_tokenizer(), model.target_tokenizer(),
                                               request.describe(model.config().model)));
    });
  }
  // Returns the links of each line.
  Links add(const Translator& translator, const std::vector<TranslationInput>& inputs,
            const std::vector<NBest>& translations) {
    std::vector<PairIds> pairs(inputs.size());  // empty for a line without text
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!translator.has_text(inputs[i])) continue;
      const std::vector<int32_t>& source = inputs[i].source;
      const auto length = std::min(std::ssize(source), translator.longest_source());
      pairs[i] = {.source = {source.begin(), source.begin() + length}, .target = translations[i].front().tokens};
    }
    Links links;
    aligner_.align(pairs, [&](const Alignment& alignment) {
      for (const auto& file : files_) file->add(alignment);
      links.push_back(best_links(alignment));
    });
    return links;
  }
  void finish() {
    for (const auto& file : files_) file->finish();
  }

 private:
  Aligner aligner_;
  std::vector<std::unique_ptr<AlignmentFile>> files_;  // empty except on rank 0
};

void write(const TranslatedLine& line, const Translator& translator, const TranslateRequest& r) {
  const NBest& nbest = line.nbest;
  if (r.json) {
    fmt::print("{}\n", translation_line(line, translator));
  } else if (r.decode.nbest > 1) {
    for (const Translation& t : nbest) fmt::print("{} ||| {} ||| {:.6f}\n", line.index, t.text, t.score);
  } else if (r.scores) {
    fmt::print("{:.6f}\t{}\n", nbest.front().score, nbest.front().text);
  } else {
    fmt::print("{}\n", nbest.front().text);
  }
}

// Names the lines that were cut, but no more than the first few of them.
class CutLines {
 public:
  void add(int64_t line, size_t tokens) {
    if (++count_ <= kMostNamed) named_ += fmt::format("{}line {} with {} tokens", count_ > 1 ? ", " : "", line, tokens);
  }
  void print(int64_t limit) const {
    if (count_ > 0)
      print_note("weft: lines that were longer than {} tokens and were cut: {} ({}{})\n", limit, count_, named_,
                 count_ > kMostNamed ? ", ..." : "");
  }

 private:
  static constexpr int64_t kMostNamed = 5;
  int64_t count_ = 0;
  std::string named_;
};

// Measures the time of tokenization and search, but not of loading the model, of alignments and of waiting for input.
class SearchSpeed {
 public:
  void add(double begin, const std::vector<NBest>& translations) {
    seconds_ += monotonic_seconds() - begin;
    sentences_ += std::ssize(translations);
    for (const NBest& nbest : translations) tokens_ += std::ssize(nbest.front().tokens) + 1;
  }
  void print() const {
    print_note("weft: {} sentences, {} target tokens (with eos) in {:.3f} s, {:.0f} tokens/s\n", sentences_, tokens_,
               seconds_, seconds_ > 0 ? static_cast<double>(tokens_) / seconds_ : 0.0);
  }

 private:
  double seconds_ = 0;
  int64_t sentences_ = 0, tokens_ = 0;
};

std::vector<TranslationInput> encode(const Translator& translator, const TaggedLines& format,
                                     const std::vector<std::string>& lines, int64_t lines_before) {
  std::vector<TranslationInput> inputs;
  for (size_t i = 0; i < lines.size(); ++i)
    inputs.push_back(translator.encode(format.parse(lines[i], lines_before + static_cast<int64_t>(i) + 1)));
  return inputs;
}

struct Totals {
  SearchSpeed speed;
  CutLines cut;
};

Totals translate_all(Communicator& world, Translator& translator, DocumentTranslator* documents,
                     AlignmentKeeper* keeper, const TranslateRequest& r) {
  const bool is_main_rank = world.is_main_rank();
  const TaggedLines format = r.lines();
  TextReader input = TextReader::standard_input();
  Totals totals;
  ProgressBar bar("translating", "sentences", /*total=*/0, ProgressOutput::standard(r.model.quiet || !is_main_rank));
  std::vector<std::string> lines;  // read but not yet translated
  for (int64_t done = 0;;) {
    const std::vector<std::string> read = lines_of_rank0(world, [&] { return read_chunk(input, format, translator); });
    lines.insert(lines.end(), read.begin(), read.end());
    const double begin = monotonic_seconds();
    std::vector<TranslationInput> inputs = encode(translator, format, lines, done);
    if (documents && !read.empty()) inputs.resize(documents->num_complete(inputs));  // the rest waits for more lines
    const auto progress = [&](int64_t sentences) { bar.update(done + sentences); };
    const std::vector<NBest> translations =
        documents ? documents->translate(inputs, progress) : translator.translate_inputs(inputs, progress);
    totals.speed.add(begin, translations);
    Links links;
    if (keeper && !inputs.empty()) links = keeper->add(translator, inputs, translations);
    for (size_t i = 0; is_main_rank && i < translations.size(); ++i) {
      const int64_t index = done + static_cast<int64_t>(i);
      write({index, inputs[i], translations[i], r.alignment.in_json() ? &links[i] : nullptr}, translator, r);
      if (translator.is_cut(inputs[i])) totals.cut.add(index + 1, inputs[i].source.size());
    }
    if (is_main_rank && std::fflush(stdout) != 0) fail(ErrorKind::io, "standard output is closed, or its disk is full");
    done += std::ssize(translations);
    lines.erase(lines.begin(), lines.begin() + std::ssize(translations));
    bar.update(done);
    if (read.empty()) break;
  }
  if (keeper) keeper->finish();
  return totals;
}

}  // namespace

int run_translate(const CommandContext& context) {
  TranslateRequest request;
  Options options(
      "translate --checkpoint PATH [options] < SOURCE > TRANSLATION\n\n"
      "Translates standard input to standard output, line by line.\n\n"
      "  weft translate --checkpoint runs/mine < test.en > translated.de");
  if (!parse(context.args, request, options)) return 0;
  Communicator& world = *context.world;
  all_or_none(world, [&] {
    if (!world.is_main_rank()) return;
    require_no_folder_as_input();
    request.alignment.check_files();
  });
  const CheckpointLease lease = find_checkpoint(world, request.model.checkpoint);
  const RunConfig config = config_for_use(lease.folder, request.model.parallel, world.size());
  complete_decode_options(options, config.decode, request.decode);
  request.lines();                                                         // fails before the model is read
  if (request.alignment.wanted()) request.alignment.choice(config.model);  // fails before the model is read
  const Mesh mesh = mesh_for_use(request.model, config, world);
  LoadedModel model = request.model.load(lease.folder, config, mesh);
  Translator translator(model.replica(), model.source_tokenizer(), model.target_tokenizer(), request.decode,
                        request.batch);
  request.tags.check(translator);
  std::optional<AlignmentKeeper> keeper;
  if (request.alignment.wanted()) keeper.emplace(model, request.alignment);
  std::optional<DocumentTranslator> documents;
  if (request.documents > 0) documents.emplace(translator, request.documents);
  const auto [speed, cut] =
      translate_all(world, translator, documents ? &*documents : nullptr, keeper ? &*keeper : nullptr, request);
  if (world.is_main_rank() && !request.model.quiet) speed.print();
  if (world.is_main_rank() && documents && documents->num_again() > 0)
    print_note(
        "weft: lines translated together: {}; lines translated again one by one, because the joint translation "
        "had too few or too many separators: {}\n",
        documents->num_joined(), documents->num_again());
  if (world.is_main_rank()) cut.print(translator.longest_source());
  return 0;
}

}  // namespace weft
