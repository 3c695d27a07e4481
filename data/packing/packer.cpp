// data/packing/packer.cpp: implements the steps from text to corpus; read pack() at the end first.
#include "data/packing/packer.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "data/atomic_file.h"
#include "data/corpus.h"
#include "data/packing/disk_shuffle.h"
#include "data/packing/duplicates.h"
#include "data/packing/pack_tokenizers.h"
#include "data/packing/pair_scan.h"
#include "data/packing/pair_tags.h"
#include "data/packing/references.h"
#include "data/sha256.h"
#include "data/shards/shard.h"
#include "data/tags.h"
#include "data/text/line_list.h"
#include "tensor/error.h"

namespace weft {
namespace {

// Fails before any text is read if a model is unreadable.
void require_readable(const std::string& model) { static_cast<void>(Tokenizer(model)); }

void check_tokenizers(const PackOptions& o) {
  check_tokenizer_files(o.tokenizer, o.source_tokenizer, o.target_tokenizer);
  if (!o.tokenizer.empty() && o.separate_vocabularies)
    fail(ErrorKind::usage,
         "--tokenizer gives one model for both sides, but --separate-vocabularies needs two: leave out one option");
  if (o.existing == ExistingCorpus::extend &&
      (o.separate_vocabularies || !o.tokenizer.empty() || !o.source_tokenizer.empty() || !o.target_tokenizer.empty()))
    fail(ErrorKind::usage,
         "--append uses the tokenizer of the corpus: leave out all tokenizer options and --separate-vocabularies");
  for (const std::string* model : {&o.tokenizer, &o.source_tokenizer, &o.target_tokenizer})
    if (!model->empty()) require_readable(*model);
  if (!o.tokenizer.empty()) check_variant_models(o.variants, o.tokenizer, o.tokenizer);
  if (!o.source_tokenizer.empty()) check_variant_models(o.variants, o.source_tokenizer, o.target_tokenizer);
  const bool trains = o.tokenizer.empty() && o.source_tokenizer.empty();
  if (trains && o.variants.unigram_alpha > 0)
    fail(ErrorKind::usage,
         "--unigram-alpha needs a unigram model, but `weft pack` trains a BPE model: use --bpe-dropout instead, or "
         "give a unigram model with --tokenizer");
}

void check_options(const PackOptions& o) {
  if (o.text.tsv.empty() == (o.text.source.empty() && o.text.target.empty()))
    fail(ErrorKind::usage, "the text must be given either with --source and --target, or with --tsv");
  if (o.text.source.empty() != o.text.target.empty()) fail(ErrorKind::usage, "give both --source and --target");
  const auto at_least = [](const char* option, int64_t value, int64_t least) {
    if (value < least) fail(ErrorKind::usage, fmt::format("{} {}: must be at least {}", option, value, least));
  };
  at_least("--vocab-size", o.vocab_size, 4);
  at_least("--show-dropped", o.show_dropped, 0);
  at_least("--show-changed", o.show_changed, 0);
  at_least("--shard-pairs", o.shard_pairs, 1);
  at_least("--training-lines", o.training_lines, 2);
  at_least("--threads", o.threads, 1);
  at_least("--documents", o.documents, 0);
  if (o.documents == 0 && has_documents(o.text))
    fail(ErrorKind::usage, "the column 'document' needs --documents: add this option, or write - for the column");
  if (o.vocab_size > INT32_MAX) fail(ErrorKind::usage, fmt::format("--vocab-size {} is too large", o.vocab_size));
  if (!(o.character_coverage >= 0.98 && o.character_coverage <= 1.0))
    fail(ErrorKind::usage, fmt::format("--character-coverage {}: must be from 0.98 to 1", o.character_coverage));
  tag_names(o.reserve_tags, "--reserve-tags");
  check_filter_options(o.filter);
  if (o.existing == ExistingCorpus::extend && o.variants != VariantOptions())
    fail(ErrorKind::usage,
         "--append makes the same variants as the corpus: leave out --variants and all options of variants");
  check_variant_options(o.variants);
  check_tokenizers(o);
}

void check_separator(const PackOptions& o) {  // checks only given tokenizers
  for (const std::string* model : {&o.tokenizer, &o.source_tokenizer, &o.target_tokenizer})
    if (o.documents > 0 && !model->empty()) check_tags(kSeparator, Tokenizer(*model), "--documents");
}

PairTags known_tags(const PackOptions& o) {
  if (PackTokenizers::needs_training(o)) return PairTags(o.text, reserved_tags(o), reserved_tags(o));
  const bool one_file = !o.tokenizer.empty();
  return PairTags(o.text, tags_of(Tokenizer(one_file ? o.tokenizer : o.source_tokenizer)),
                  tags_of(Tokenizer(one_file ? o.tokenizer : o.target_tokenizer)));
}

// Holds the result of the first pass over the text.
struct ScannedText {
  int64_t num_lines = 0;
  std::vector<bool> duplicates;  // [lines], or empty
  SampledLines sample;
};

ScannedText scan_text(const PackOptions& options, const PackFolder& folder, const PackProgress& progress) {
  const bool train = PackTokenizers::needs_training(options);
  const LineSampler half(options.training_lines / 2, options.seed);
  ScannedText found{.sample = {.source = half, .target = half}};
  const PairFilter filter(options.filter);
  std::optional<DuplicateFinder> finder;
  if (options.filter.drop_duplicates) finder.emplace(folder.working());
  check_separator(options);
  if (options.documents > 0 && options.variants.count > 0)
    fail(ErrorKind::usage, "--documents, which joins pairs, cannot be combined with --variants: leave out one option");
  PairTags tags = known_tags(options);
  const LetterCases cases(options.variants, options.seed);
  const auto sample = [&](const TextPair& pair) {
    found.sample.source.add(pair.source);
    found.sample.target.add(pair.target);
  };
  const auto look_at = [&, number = int64_t{-1}](const TextPair& pair) mutable {
    ++number;
    tags.check(pair);
    if (finder) finder->add(pair);
    if (!train) return;
    const std::optional<Fault> fault = filter.of_text(pair, number);
    if (fault && *fault != Fault::empty) return;  // if one side is empty, the tokenizer still learns from the other
    cases.any() ? sample(cases.of(pair, number)) : sample(pair);
  };
  found.num_lines =
      scan_pairs(options.text, look_at, [&](int64_t done, int64_t total) { progress("checking", done, total); });
  if (!options.filter.without.empty()) require_list_of(options.filter.without, found.num_lines);
  if (finder) found.duplicates = finder->finish();
  return found;
}

// Writes pairs, in order, to shards of `shard_pairs` pairs. A separate thread writes each full shard, so that HDF5,
// SHA-256 and the disk do not delay the next shard.
class ShardSequence {
 public:
  ShardSequence(const PackFolder& folder, Manifest manifest, const PackOptions& options)
      : folder_(folder),
        shard_pairs_(options.shard_pairs),
        manifest_(std::move(manifest)),
        builder_(empty_shard()),
        references_(options) {}

  void add(const PairIds& pair) {
    builder_.add(pair);
    manifest_.longest_source = std::max(manifest_.longest_source, static_cast<int64_t>(pair.source.size()));
    manifest_.longest_target = std::max(manifest_.longest_target, static_cast<int64_t>(pair.target.size()));
    if (builder_.num_pairs() == shard_pairs_) write();
  }

  References& references() { return references_; }

  const Manifest& finish() {
    if (builder_.num_pairs() > 0) write();
    take_written();
    manifest_.references_sha256 = references_.write(folder_);
    return manifest_;
  }

 private:
  ShardBuilder empty_shard() const {
    return ShardBuilder({.source_vocabulary = manifest_.source_vocabulary,
                         .target_vocabulary = manifest_.target_vocabulary,
                         .source_tokenizer_sha256 = manifest_.source_tokenizer_sha256,
                         .target_tokenizer_sha256 = manifest_.target_tokenizer_sha256,
                         .columns = manifest_.columns,
                         .variants = manifest_.variants.count});
  }

  void write() {
    take_written();
    written_ =
        std::async(std::launch::async, [shard = std::exchange(builder_, empty_shard()), folder = folder_.working(),
                                        file = next_file()]() mutable { return shard.write(folder, file); });
  }

  std::string next_file() {  // returns a name that no other shard has; an older corpus may use any names
    for (;;) {
      std::string file = fmt::format("shard-{:05d}.h5", next_number_++);
      const auto taken = [&](const ShardEntry& shard) { return shard.file == file; };
      if (std::none_of(manifest_.shards.begin(), manifest_.shards.end(), taken)) return file;
    }
  }

  void take_written() {  // throws the writing thread's Error, if any
    if (!written_.valid()) return;
    const ShardEntry entry = written_.get();
    manifest_.num_pairs += entry.num_pairs;
    manifest_.source_tokens += entry.source_tokens;
    manifest_.target_tokens += entry.target_tokens;
    manifest_.shards.push_back(entry);
  }

  const PackFolder& folder_;
  int64_t shard_pairs_;
  Manifest manifest_;
  ShardBuilder builder_;
  References references_;
  size_t next_number_ = manifest_.shards.size();
  std::future<ShardEntry> written_;  // one at a time; the last member, because its destructor must wait first
};

EncodeCounts encode_to_shards(const PackOptions& options, const PackFolder& folder, const PackTokenizers& tokenizers,
                              ScannedText text, ShardSequence& shards, const PackProgress& progress) {
  const std::unique_ptr<PairVariants> variants = tokenizers.variants(options, folder);
  const EncodeOptions encode{.text = options.text,
                             .filter = options.filter,
                             .duplicates = std::move(text.duplicates),
                             .variants = variants.get(),
                             .show_dropped = options.show_dropped,
                             .show_changed = options.show_changed,
                             .documents = options.documents,
                             .threads = options.threads,
                             .on_target = shards.references().sink()};
  const auto encoded = [&](int64_t lines) { progress("encoding", lines, text.num_lines); };
  if (!options.shuffle)
    return encode_pairs(
        encode, tokenizers.source(), tokenizers.target(), [&](int64_t, const PairIds& pair) { shards.add(pair); },
        encoded);

  const int64_t texts = std::max<int64_t>(1, options.variants.count);
  const int64_t larger = std::max(tokenizers.source().size(), tokenizers.target().size());
  DiskShuffle shuffle(folder.working(), options.seed, text.num_lines * texts, options.shard_pairs * texts,
                      {.id_bytes = narrow_bytes(larger), .with_numbers = columns_of(options.text).any()});
  const EncodeCounts counts = encode_pairs(
      encode, tokenizers.source(), tokenizers.target(),
      [&](int64_t number, const PairIds& pair) { shuffle.add(number, pair); }, encoded);
  int64_t done = 0;
  shuffle.drain([&](const PairIds& pair) {
    shards.add(pair);
    if (++done % 4096 == 0 || done == counts.packed) progress("shuffling", done, counts.packed);
  });
  return counts;
}

// Returns the number of dropped pairs per reason. Filters that are always active appear only if they dropped pairs.
std::vector<std::pair<std::string, int64_t>> dropped_by_filters(const Drops& drops, const FilterOptions& filter) {
  std::vector<std::pair<std::string, int64_t>> dropped;
  for (size_t i = 0; i < kNumFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    const bool is_always_there = fault == Fault::empty || fault == Fault::too_long;
    if (is_always_there ? drops.count(fault) > 0 : is_active(fault, filter))
      dropped.emplace_back(description(fault, filter), drops.count(fault));
  }
  return dropped;
}

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Creation creation_of(const PackOptions& options, const EncodeCounts& counts) {
  const PairFiles& text = options.text;
  return {.source_file = base_name(text.tsv.empty() ? text.source : text.tsv),
          .target_file = base_name(text.tsv.empty() ? text.target : text.tsv),
          .seed = options.seed,
          .shuffled = options.shuffle,
          .max_length = options.filter.max_length,
          .over_long = options.filter.over_long == OverLong::cut ? "cut" : "drop",
          .shard_pairs = options.shard_pairs,
          .tag = text.tag,
          .target_tag = text.target_tag,
          .documents = options.documents,
          .dropped = dropped_by_filters(counts.dropped, options.filter)};
}

Manifest corpus_to_extend(const PackOptions& options) {
  Manifest corpus = read_manifest(options.output);
  if (columns_of(options.text) != corpus.columns)
    fail(ErrorKind::usage, fmt::format("--append needs the same numbers per pair: {} contains {}, but the pairs to add "
                                       "contain {}; use --columns, --weights or --scores",
                                       options.output, names_of(corpus.columns), names_of(columns_of(options.text))));
  return corpus;
}

PackOptions as_in(const Manifest& corpus, PackOptions options) {  // with the corpus's tokenizers and variants
  options.variants = variant_options_of(corpus.variants, options.output);
  read_tokenizers(options.output, corpus);  // refuses damaged tokenizers
  const auto path = [&](const std::string& file) { return (std::filesystem::path(options.output) / file).string(); };
  if (corpus.source_tokenizer == corpus.target_tokenizer) {
    options.tokenizer = path(corpus.source_tokenizer);
  } else {
    options.source_tokenizer = path(corpus.source_tokenizer);
    options.target_tokenizer = path(corpus.target_tokenizer);
  }
  return options;
}

}  // namespace

PackSummary pack(const PackOptions& given, const PackProgress& progress) {
  check_options(given);
  PackFolder folder(given.output, given.existing);
  const bool append = given.existing == ExistingCorpus::extend;
  const Manifest before = append ? corpus_to_extend(given) : Manifest();
  const PackOptions options = append ? as_in(before, given) : given;

  ScannedText text = scan_text(options, folder, progress);
  const bool train = PackTokenizers::needs_training(options);
  const int64_t num_sampled = text.sample.size();
  if (train) progress("training the tokenizer", 0, num_sampled);
  const PackTokenizers tokenizers(options, folder, text.sample);
  if (train) progress("training the tokenizer", num_sampled, num_sampled);
  text.sample = {.source = LineSampler(0, 0), .target = LineSampler(0, 0)};  // frees their memory

  Manifest start = append ? before : tokenizers.manifest();
  start.columns = columns_of(options.text);
  start.variants = variants_of(options.variants);
  ShardSequence shards(folder, start, options);
  const EncodeCounts counts = encode_to_shards(options, folder, tokenizers, std::move(text), shards, progress);
  if (counts.kept == 0)
    fail(ErrorKind::data,
         fmt::format("none of the {} pairs is left: {}", counts.read, list_of(counts.dropped, options.filter)));

  PackSummary summary{.counts = counts, .variants = options.variants, .manifest = shards.finish()};
  const Manifest& manifest = summary.manifest;
  summary.removed_references = !before.references_sha256.empty();
  const size_t first = before.shards.size();
  summary.num_added_pairs = manifest.num_pairs - before.num_pairs;
  summary.num_added_shards = std::ssize(manifest.shards) - std::ssize(before.shards);
  for (size_t i = first; i < manifest.shards.size(); ++i)
    summary.bytes += static_cast<int64_t>(std::filesystem::file_size(folder.working(manifest.shards[i].file)));
  const Creation creation = creation_of(options, counts);
  if (append)
    folder.append(manifest, first, creation);
  else
    folder.commit(manifest, creation);
  return summary;
}

}  // namespace weft
