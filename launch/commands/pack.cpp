// launch/commands/pack.cpp: `weft pack`: packs two text files into a corpus and prints a summary of kept, cut
// and dropped pairs.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "data/packing/packer.h"
#include "launch/commands.h"
#include "launch/options/options.h"
#include "launch/options/tokenizer_options.h"
#include "launch/reports/pack_summary.h"
#include "tensor/clock.h"
#include "tensor/context.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"

namespace weft {

namespace {

constexpr const char* kExamples = R"(
Line i of --source and line i of --target are a pair; files are UTF-8, plain or packed with gzip, zstd or xz. The
folder then holds token shards (HDF5), the tokenizer and manifest.json. The training text brings the tokenizer,
held-out text uses it again:

  weft pack --source train.en --target train.de --output packed/train --vocab-size 8000
  weft pack --source valid.en --target valid.de --output packed/valid --tokenizer packed/train/tokenizer.model \
            --no-shuffle --max-length 1000
  weft pack --tsv train.tsv.xz --columns -,target,source --output packed/train --vocab-size 8000
)";

struct PackRequest {
  PackOptions pack;
  bool no_shuffle = false, quiet = false, append = false, overwrite = false;
};

void add_variant_options(Options& options, VariantOptions& variants) {
  options.add("variants", variants.count,
              "texts of each pair, of which training takes one in each epoch; see docs/packing.md; 0 = one, unvaried");
  options.add("bpe-dropout", variants.bpe_dropout,
              "variants: probability that a merge of a BPE model is left out, such as 0.1");
  options.add("unigram-alpha", variants.unigram_alpha,
              "variants: segmentations of a unigram model have their probability to this power, such as 0.1; 0 = none");
  options.add("subword-sides", variants.subword_sides, "sides whose segmentation is sampled");
  options.add(
      "noise", variants.noise,
      "variants: shares of pairs whose source is changed, such as upper=0.05,typos=0.1; of upper, title, lower, "
      "typos, punctuation and words");
  options.add("noise-target", variants.noise_target,
              "kinds of letter case that change the target, too, such as upper,title");
  options.add("insert", variants.insert,
              "variants: shares of pairs that get an emoji or inline markup on both sides alike, such as "
              "emoji=0.05,markup=0.05; a model learns to copy them");
  options.add("concatenate", variants.concatenate,
              "variants: share of pairs that begin with the pair before in the text, on both sides");
}

void add_text_options(Options& options, PackOptions& p) {
  options.add("source", p.text.source, "text to translate from, one sentence a line, plain or packed");
  options.add("target", p.text.target, "its translation, line by line");
  options.add("tsv", p.text.tsv,
              "instead of both: a file whose lines have the columns of a pair, with tabs between them");
  options.add("columns", p.text.columns,
              "columns of --tsv, in order: source, target, weight, score, tag, target-tag, document, and - for one "
              "that is skipped");
  options.add("weights", p.text.weights, "a file with the weight of each pair, a number a line; see docs/packing.md");
  options.add("scores", p.text.scores, "a file with a score of each pair");
  options.add("tag", p.text.tag, "tags in front of every source, such as '<2de>' or '<2de> <web>'; see docs/tags.md");
  options.add("target-tag", p.text.target_tag, "tags in front of every target");
  options.add("documents", p.documents,
              "join consecutive sentences of a document up to this many tokens a side; empty lines, or the column "
              "document, end one; 0 = no joining; see docs/documents.md");
  options.add("output", p.output, "folder for the packed corpus");
}

void add_vocabulary_options(Options& options, PackOptions& p) {
  options.add("vocab-size", p.vocab_size, "entries of the tokenizer to be trained (SentencePiece BPE, byte fallback)");
  options.add("separate-vocabularies", p.separate_vocabularies,
              "train a tokenizer for each side, of --vocab-size each");
  add_tokenizer_options(options, p.tokenizer, p.source_tokenizer, p.target_tokenizer);
  options.add("reserve-tags", p.reserve_tags, "tags that the tokenizer to be trained gets, such as '<2de>,<2fr>'");
  options.add("training-lines", p.training_lines,
              "lines sampled for training the tokenizer, half of them from each side");
  options.add("character-coverage", p.character_coverage,
              "share of the characters that get an entry; the rest are encoded as bytes");
}

void add_run_options(Options& options, PackRequest& request) {
  PackOptions& p = request.pack;
  options.add("show-dropped", p.show_dropped, "print the first N dropped pairs of each reason");
  options.add("shard-pairs", p.shard_pairs,
              "pairs in a shard; memory holds two or three times as many, with all variants");
  options.add("no-shuffle", request.no_shuffle,
              "keep the order of the text (for held-out sets); dropped pairs leave no gap");
  options.add("seed", p.seed, "seed of the shuffle, of the sample of lines and of the variants");
  options.add("threads", p.threads, "threads for encoding; 0 = all cores; the result does not depend on it");
  options.add("append", request.append,
              "add shards to the corpus in --output, with its tokenizer; see docs/packing.md");
  options.add("overwrite", request.overwrite, "replace the corpus in --output");
  options.add("quiet", request.quiet, "no progress, no summary");
}

// Options that do not go together.
void check(const Options& options, const PackRequest& request) {
  const PackOptions& p = request.pack;
  options.require("output");
  if (options.given("columns") && p.text.tsv.empty()) fail(ErrorKind::usage, "--columns names those of --tsv: give it");
  const bool ready = request.append || options.given("tokenizer") || options.given("source-tokenizer");
  if (options.given("max-foreign") && p.filter.source_script.empty() && p.filter.target_script.empty())
    fail(ErrorKind::usage, "--max-foreign needs --source-script or --target-script");
  for (const char* key : {"vocab-size", "training-lines", "character-coverage", "reserve-tags"})
    if (ready && options.given(key))
      fail(ErrorKind::usage, fmt::format("--{} is for training a tokenizer, but there is one already", key));
  if (request.append && request.overwrite)
    fail(ErrorKind::usage, "--append keeps the corpus in --output, and --overwrite replaces it: give one of them");
}

bool parse(const std::vector<std::string>& args, PackRequest& request) {
  PackOptions& p = request.pack;
  p.threads = 0;
  Options options(
      "pack --source FILE --target FILE | --tsv FILE, --output DIR [--vocab-size N | --tokenizer MODEL] [options]");
  add_text_options(options, p);
  add_vocabulary_options(options, p);
  options.section("", p.filter);
  add_variant_options(options, p.variants);
  add_run_options(options, request);
  options.show_first({"source", "target", "tsv", "output", "vocab-size", "tokenizer", "no-shuffle", "append", "quiet"});
  if (!options.parse(args)) {
    fmt::print("{}", kExamples);
    return false;
  }
  check(options, request);
  p.existing = request.append      ? ExistingCorpus::extend
               : request.overwrite ? ExistingCorpus::replace
                                   : ExistingCorpus::refuse;
  if (p.threads == 0) p.threads = num_threads();
  p.shuffle = !request.no_shuffle;
  return true;
}

class PhaseBars {  // a progress bar for each phase, one after the other
 public:
  explicit PhaseBars(bool quiet) : quiet_(quiet) {}
  void update(const char* phase, int64_t done, int64_t total) {
    if (!bar_ || std::strcmp(phase, phase_) != 0) bar_.emplace(phase, "lines", total, ProgressOutput::standard(quiet_));
    phase_ = phase;
    bar_->update(done);
  }

 private:
  bool quiet_;
  const char* phase_ = "";
  std::optional<ProgressBar> bar_;
};

}  // namespace

int run_pack(const CommandContext& context) {
  PackRequest request;
  if (!parse(context.args, request)) return 0;
  const double begin = monotonic_seconds();
  PackSummary summary;
  {
    PhaseBars bars(request.quiet);
    summary =
        pack(request.pack, [&](const char* phase, int64_t done, int64_t total) { bars.update(phase, done, total); });
  }
  const double seconds = monotonic_seconds() - begin;
  print_dropped(summary.counts.dropped, request.pack.filter);
  if (!request.quiet) print_pack_summary(summary, request.pack, seconds);
  return 0;
}

}  // namespace weft
