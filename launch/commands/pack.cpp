// launch/commands/pack.cpp: `weft pack`: packs two text files into a corpus and prints a summary of kept, cut
// and dropped pairs.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <optional>

#include "data/packing/packer.h"
#include "launch/commands.h"
#include "launch/options/options.h"
#include "launch/options/tokenizer_options.h"
#include "tensor/context.h"
#include "tensor/error.h"
#include "trainer/report/progress.h"
#include "trainer/report/units.h"

namespace weft {

constexpr EnumNames<OverLong, 2> enum_names(OverLong) { return {{{"drop", OverLong::drop}, {"cut", OverLong::cut}}}; }

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
  bool no_shuffle = false, quiet = false;
};

bool parse(const std::vector<std::string>& args, PackRequest& request) {
  PackOptions& p = request.pack;
  p.threads = 0;
  Options options(
      "pack --source FILE --target FILE | --tsv FILE, --output DIR [--vocab-size N | --tokenizer MODEL] [options]");
  options.add("source", p.text.source, "text to translate from, one sentence a line, plain or packed");
  options.add("target", p.text.target, "its translation, line by line");
  options.add("tsv", p.text.tsv,
              "instead of both: a file whose lines have the columns of a pair, with tabs between them");
  options.add("columns", p.text.columns,
              "columns of --tsv, in order: source, target, and - for one that is skipped; later ones need no name");
  options.add("output", p.output, "folder for the packed corpus");
  options.add("vocab-size", p.vocab_size, "entries of the tokenizer to be trained (SentencePiece BPE, byte fallback)");
  options.add("separate-vocabularies", p.separate_vocabularies,
              "train a tokenizer for each side, of --vocab-size each");
  add_tokenizer_options(options, p.tokenizer, p.source_tokenizer, p.target_tokenizer);
  options.add("training-lines", p.training_lines,
              "lines sampled for training the tokenizer, half of them from each side");
  options.add("character-coverage", p.character_coverage,
              "share of the characters that get an entry; the rest are encoded as bytes");
  options.add("max-length", p.max_length, "longest sentence that is kept whole, in tokens");
  options.add("over-long", p.over_long, "longer sentences: drop the pair, or cut");
  options.add("shard-pairs", p.shard_pairs, "pairs in a shard; memory holds two or three times as many");
  options.add("no-shuffle", request.no_shuffle,
              "keep the order of the text (for held-out sets); dropped pairs leave no gap");
  options.add("seed", p.seed, "seed of the shuffle and of the sample of lines");
  options.add("threads", p.threads, "threads for encoding; 0 = all cores; the result does not depend on it");
  options.add("overwrite", p.overwrite, "replace the corpus in --output");
  options.add("quiet", request.quiet, "no progress, no summary");
  if (!options.parse(args)) {
    fmt::print("{}", kExamples);
    return false;
  }
  options.require("output");
  if (options.given("columns") && p.text.tsv.empty()) fail(ErrorKind::usage, "--columns names those of --tsv: give it");
  const bool ready = options.given("tokenizer") || options.given("source-tokenizer");
  for (const char* key : {"vocab-size", "training-lines", "character-coverage"})
    if (ready && options.given(key))
      fail(ErrorKind::usage, fmt::format("--{} is for training a tokenizer, but a ready one is given", key));
  if (p.threads == 0) p.threads = num_threads();
  p.shuffle = !request.no_shuffle;
  return true;
}

class PhaseBars {  // a progress bar for each phase, one after the other
 public:
  explicit PhaseBars(bool quiet) : quiet_(quiet) {}
  void update(const char* phase, int64_t done, int64_t total) {
    if (!bar_ || std::strcmp(phase, phase_) != 0) bar_.emplace(phase, total, ProgressOutput::standard(quiet_));
    phase_ = phase;
    bar_->update(done);
  }

 private:
  bool quiet_;
  const char* phase_ = "";
  std::optional<ProgressBar> bar_;
};

std::string share(int64_t part, int64_t whole) {
  return fmt::format("{:.3f} %", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void print_summary(const PackSummary& summary, const PackOptions& options, double seconds) {
  const auto row = [](const std::string& what, const std::string& source, const std::string& target = "") {
    fmt::print("  {:<38} {:>14} {:>14}\n", what, source, target);
  };
  const EncodeCounts& c = summary.counts;
  const Manifest& m = summary.manifest;
  const auto each = [&](const char* what, auto value) { row(what, value(c.source), value(c.target)); };
  row("pairs read", with_commas(c.read));
  row("dropped, a side is empty", with_commas(c.empty));
  row(fmt::format("{}, longer than {} tokens", options.over_long == OverLong::cut ? "cut" : "dropped",
                  options.max_length),
      with_commas(c.over_long));
  row("pairs kept", with_commas(c.kept));
  fmt::print("\n");
  row("", "source", "target");
  row(m.joint_vocabulary ? "vocabulary (joint)" : "vocabulary", with_commas(m.source_vocabulary),
      with_commas(m.target_vocabulary));
  row("tokens", with_commas(m.source_tokens), with_commas(m.target_tokens));
  row("longest sentence, tokens", with_commas(m.longest_source), with_commas(m.longest_target));
  each("tokens a word", [](const SideCounts& s) {
    return fmt::format("{:.2f}", s.words == 0 ? 0.0 : static_cast<double>(s.tokens) / static_cast<double>(s.words));
  });
  each("bytes of characters not in vocabulary", [](const SideCounts& s) { return share(s.bytes, s.tokens); });
  each("unknown tokens", [](const SideCounts& s) { return share(s.unknown, s.tokens); });
  fmt::print("\n");
  row("shards", with_commas(static_cast<int64_t>(m.shards.size())));
  row("bytes", with_commas(summary.bytes));
  row("seconds", fmt::format("{:.1f}", seconds));
  row("pairs a second", with_commas(static_cast<int64_t>(static_cast<double>(c.read) / std::max(seconds, 1e-3))));
  fmt::print("  packed into {}\n", options.output);
}

}  // namespace

int run_pack(const CommandContext& context) {
  PackRequest request;
  if (!parse(context.args, request)) return 0;
  const auto begin = std::chrono::steady_clock::now();
  PackSummary summary;
  {
    PhaseBars bars(request.quiet);
    summary =
        pack(request.pack, [&](const char* phase, int64_t done, int64_t total) { bars.update(phase, done, total); });
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!request.quiet) print_summary(summary, request.pack, seconds.count());
  return 0;
}

}  // namespace weft
