// launch/commands/pack.cpp: `weft pack` packs parallel text into a corpus and prints counts of kept and dropped pairs.
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

constexpr const char* kPackUsage =
    R"(pack --source FILE --target FILE | --tsv FILE, --output DIR [--vocab-size N | --tokenizer MODEL] [options]

Packs parallel text into a folder with token shards (HDF5), the tokenizer and manifest.json. Line i of --source
and line i of --target are a pair. Files must be UTF-8, plain or compressed with gzip, zstd or xz. Pack the
training text first, because validation and test sets use its tokenizer:

  weft pack --source train.en --target train.de --output packed/train --vocab-size 8000
  weft pack --source valid.en --target valid.de --output packed/valid --tokenizer packed/train \
            --no-shuffle --max-length 1000
  weft pack --tsv train.tsv.xz --columns -,target,source --output packed/train --vocab-size 8000)";

struct PackRequest {
  PackOptions pack;
  bool no_shuffle = false, quiet = false, append = false, overwrite = false;
};

void add_variant_options(Options& options, VariantOptions& variants) {
  options.add(
      "variants", variants.count,
      "number of variants per pair, one of which is used in each epoch; 0 = only the plain pair; see docs/packing.md");
  options.add("bpe-dropout", variants.bpe_dropout,
              "variants: probability of skipping a merge of a BPE model, for example 0.1");
  options.add("unigram-alpha", variants.unigram_alpha,
              "variants: sample segmentations of a unigram model in proportion to probability^alpha, for example with "
              "alpha = 0.1; 0 = no sampling");
  options.add("subword-sides", variants.subword_sides, "variants: sample segmentations of source, target or both");
  options.add("noise", variants.noise,
              "variants: share of sources to change with each kind of noise (upper, title, lower, typos, punctuation, "
              "words), for example upper=0.05,typos=0.1");
  options.add("noise-target", variants.noise_target,
              "variants: kinds of letter case in --noise that also change the target, for example upper,title");
  options.add("insert", variants.insert,
              "variants: share of pairs that get the same emoji or inline markup on both sides, so that the model "
              "learns to copy it, for example emoji=0.05,markup=0.05");
  options.add("concatenate", variants.concatenate,
              "variants: share of pairs that are joined with the preceding pair of the text, on both sides");
}

void add_text_options(Options& options, PackOptions& p) {
  options.add("source", p.text.source, "source text, one sentence per line, plain or compressed");
  options.add("target", p.text.target, "translation of the source text, line by line");
  options.add("tsv", p.text.tsv,
              "file with one pair per line in tab-separated columns, instead of --source and --target");
  options.add("columns", p.text.columns,
              "columns of --tsv in the file's order, separated by commas: source, target, weight, score, tag, "
              "target-tag, document, - to skip a column, or ... at the end to skip the rest");
  options.add("weights", p.text.weights, "file with the weight of each pair, one number per line; see docs/packing.md");
  options.add("scores", p.text.scores, "file with the score of each pair, one number per line; see docs/packing.md");
  options.add("tag", p.text.tag,
              "tags to put before every source sentence, for example '<2de>' or '<2de> <web>'; see docs/tags.md");
  options.add("target-tag", p.text.target_tag, "tags to put before every target sentence");
  options.add("documents", p.documents,
              "join consecutive sentences of a document, up to this many tokens per side; a document ends at an empty "
              "line or at a new value in the document column; 0 = no joining; see docs/documents.md");
  options.add("output", p.output, "folder for the packed corpus");
}

void add_vocabulary_options(Options& options, PackOptions& p) {
  options.add("vocab-size", p.vocab_size, "size of the tokenizer to train (SentencePiece BPE with byte fallback)");
  options.add("separate-vocabularies", p.separate_vocabularies,
              "train one tokenizer per side, each with --vocab-size entries");
  add_tokenizer_options(options, p.tokenizer, p.source_tokenizer, p.target_tokenizer);
  options.add("source-normalization", p.source_normalization,
              "how the new tokenizer rewrites sources: not at all (identity), by Unicode's NFKC, or by nmt_nfkc, which "
              "also makes spaces of all white space");
  options.add("target-normalization", p.target_normalization,
              "the same for targets, and therefore for translations: with identity, the model learns and writes all "
              "characters of the text");
  options.add("reserve-tags", p.reserve_tags, "tags that get entries in the new tokenizer, for example '<2de>,<2fr>'");
  options.add("training-lines", p.training_lines, "lines sampled to train the tokenizer, half of them from each side");
  options.add("character-coverage", p.character_coverage,
              "share of the text's characters that get a vocabulary entry; other characters are encoded as bytes");
}

void add_run_options(Options& options, PackRequest& request) {
  PackOptions& p = request.pack;
  options.add("show-dropped", p.show_dropped, "for each reason to drop pairs, print the first N dropped pairs");
  options.add("show-changed", p.show_changed,
              "for each side and kind of change, print the first N lines that their tokens do not spell exactly");
  options.add("shard-pairs", p.shard_pairs,
              "pairs per shard; two to three times as many pairs, with all their variants, are held in memory");
  options.add("no-shuffle", request.no_shuffle,
              "keep the order of the text (for validation and test sets); dropped pairs leave no gap");
  options.add("seed", p.seed, "random seed of the shuffle, the sampled lines and the variants");
  options.add("threads", p.threads, "threads for encoding; 0 = all cores; the result does not depend on their number");
  options.add("append", request.append,
              "add shards to the corpus in --output, encoded with the tokenizer of this corpus; see docs/packing.md");
  options.add("overwrite", request.overwrite, "replace the corpus in --output");
  options.add("quiet", request.quiet, "print no progress and no summary");
}

void check(const Options& options, const PackRequest& request) {
  const PackOptions& p = request.pack;
  options.require("output");
  if (options.given("columns") && p.text.tsv.empty()) fail(ErrorKind::usage, "--columns needs --tsv");
  const bool ready = request.append || options.given("tokenizer") || options.given("source-tokenizer");
  if (options.given("max-foreign") && p.filter.source_script.empty() && p.filter.target_script.empty())
    fail(ErrorKind::usage, "--max-foreign needs --source-script or --target-script");
  for (const char* key : {"vocab-size", "training-lines", "character-coverage", "reserve-tags", "source-normalization",
                          "target-normalization"})
    if (ready && options.given(key))
      fail(ErrorKind::usage, fmt::format("--{} has no effect with an existing tokenizer: leave it out", key));
  if (request.append && request.overwrite)
    fail(ErrorKind::usage, "--append keeps the corpus in --output, but --overwrite replaces it: give only one of them");
}

bool parse(const std::vector<std::string>& args, PackRequest& request) {
  PackOptions& p = request.pack;
  p.threads = 0;
  Options options(kPackUsage);
  add_text_options(options, p);
  add_vocabulary_options(options, p);
  options.section("", p.filter);
  add_variant_options(options, p.variants);
  add_run_options(options, request);
  options.show_first({"source", "target", "tsv", "output", "vocab-size", "tokenizer", "no-shuffle", "append", "quiet"});
  if (!options.parse(args)) return false;
  check(options, request);
  find_tokenizers(p.tokenizer, p.source_tokenizer, p.target_tokenizer);
  p.existing = request.append      ? ExistingCorpus::extend
               : request.overwrite ? ExistingCorpus::replace
                                   : ExistingCorpus::refuse;
  if (p.threads == 0) p.threads = num_threads();
  p.shuffle = !request.no_shuffle;
  return true;
}

class PhaseBars {  // shows one progress bar per phase, one after another
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
  print_changed(summary.counts.source, "source");
  print_changed(summary.counts.target, "target");
  if (summary.removed_references)
    print_note(
        "weft: warning: {} no longer contains raw references, because --append cannot extend them; validation on it "
        "now "
        "compares with decoded text; to keep them, pack the whole text again with --overwrite\n",
        request.pack.output);
  if (!request.quiet) print_pack_summary(summary, request.pack, seconds);
  return 0;
}

}  // namespace weft
