// data/packing/packer.cpp: the steps from text to corpus; read pack() at the end first.
#include "data/packing/packer.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "data/atomic_file.h"
#include "data/packing/disk_shuffle.h"
#include "data/packing/pack_folder.h"
#include "data/packing/pair_scan.h"
#include "data/packing/train_tokenizer.h"
#include "data/sha256.h"
#include "data/shards/shard.h"
#include "tensor/error.h"

namespace weft {
namespace {

void check_options(const PackOptions& o) {
  if (o.text.tsv.empty() == (o.text.source.empty() && o.text.target.empty()))
    fail(ErrorKind::usage, "give the text either as --source and --target, or as --tsv");
  if (o.text.source.empty() != o.text.target.empty())
    fail(ErrorKind::usage, "--source and --target are given together");
  const auto at_least = [](const char* option, int64_t value, int64_t least) {
    if (value < least) fail(ErrorKind::usage, fmt::format("{} {}: give at least {}", option, value, least));
  };
  at_least("--vocab-size", o.vocab_size, 4);
  at_least("--max-length", o.max_length, 1);
  at_least("--shard-pairs", o.shard_pairs, 1);
  at_least("--training-lines", o.training_lines, 2);
  at_least("--threads", o.threads, 1);
  if (o.vocab_size > INT32_MAX) fail(ErrorKind::usage, fmt::format("--vocab-size {}: too large", o.vocab_size));
  if (!(o.character_coverage >= 0.98 && o.character_coverage <= 1.0))
    fail(ErrorKind::usage, fmt::format("--character-coverage {}: give 0.98 to 1", o.character_coverage));
  check_tokenizer_files(o.tokenizer, o.source_tokenizer, o.target_tokenizer);
  if (!o.tokenizer.empty() && o.separate_vocabularies)
    fail(ErrorKind::usage, "--tokenizer is one for both sides, and --separate-vocabularies wants two: leave one out");
  for (const std::string* model : {&o.tokenizer, &o.source_tokenizer, &o.target_tokenizer})
    if (!model->empty()) Tokenizer fails_now_rather_than_after_reading_all_text(*model);
}

// One or two SentencePiece models in the working folder, given or trained.
class Tokenizers {
 public:
  Tokenizers(const PackOptions& options, const PackFolder& folder, const LineSampler& source,
             const LineSampler& target) {
    if (is_joint(options)) {
      std::vector<std::string> lines = source.lines();
      lines.insert(lines.end(), target.lines().begin(), target.lines().end());
      source_.emplace(make(options, folder, "tokenizer.model", options.tokenizer, lines));
    } else {
      source_.emplace(make(options, folder, "source.model", options.source_tokenizer, source.lines()));
      target_.emplace(make(options, folder, "target.model", options.target_tokenizer, target.lines()));
    }
  }

  static bool is_joint(const PackOptions& o) { return !o.separate_vocabularies && o.source_tokenizer.empty(); }
  static bool needs_training(const PackOptions& o) { return o.tokenizer.empty() && o.source_tokenizer.empty(); }

  const Tokenizer& source() const { return source_->tokenizer; }
  const Tokenizer& target() const { return target_ ? target_->tokenizer : source(); }

  Manifest manifest() const {  // with the fields of the tokenizers
    const Model& target = target_ ? *target_ : *source_;
    Manifest m;
    m.joint_vocabulary = !target_;
    m.source_vocabulary = source_->tokenizer.size();
    m.target_vocabulary = target.tokenizer.size();
    m.source_tokenizer = source_->file;
    m.target_tokenizer = target.file;
    m.source_tokenizer_sha256 = source_->sha256;
    m.target_tokenizer_sha256 = target.sha256;
    return m;
  }

 private:
  struct Model {
    std::string file, sha256;
    Tokenizer tokenizer;
  };

  static Model make(const PackOptions& options, const PackFolder& folder, const char* file, const std::string& given,
                    const std::vector<std::string>& lines) {
    const std::string model = given.empty() ? train_tokenizer(lines, {.vocab_size = options.vocab_size,
                                                                      .character_coverage = options.character_coverage})
                                            : read_file(given);
    write_file_atomically(folder.working(file), model);
    return {
        .file = file, .sha256 = sha256_of(model), .tokenizer = Tokenizer(given.empty() ? folder.working(file) : given)};
  }

  std::optional<Model> source_, target_;
};

// Writes pairs, in order, to shards of `shard_pairs` each. A full shard is written on its own thread, so that
// HDF5, SHA-256 and the disk do not delay the next one.
class ShardSequence {
 public:
  ShardSequence(const PackFolder& folder, Manifest manifest, int64_t shard_pairs)
      : folder_(folder), shard_pairs_(shard_pairs), manifest_(std::move(manifest)), builder_(empty_shard()) {}

  void add(const PairIds& pair) {
    builder_.add(pair);
    manifest_.longest_source = std::max(manifest_.longest_source, static_cast<int64_t>(pair.source.size()));
    manifest_.longest_target = std::max(manifest_.longest_target, static_cast<int64_t>(pair.target.size()));
    if (builder_.num_pairs() == shard_pairs_) write();
  }

  const Manifest& finish() {
    if (builder_.num_pairs() > 0) write();
    take_written();
    return manifest_;
  }

 private:
  ShardBuilder empty_shard() const {
    return ShardBuilder({.source_vocabulary = manifest_.source_vocabulary,
                         .target_vocabulary = manifest_.target_vocabulary,
                         .source_tokenizer_sha256 = manifest_.source_tokenizer_sha256,
                         .target_tokenizer_sha256 = manifest_.target_tokenizer_sha256});
  }

  void write() {
    take_written();
    written_ =
        std::async(std::launch::async, [shard = std::exchange(builder_, empty_shard()), folder = folder_.working(),
                                        file = fmt::format("shard-{:05d}.h5", manifest_.shards.size())]() mutable {
          return shard.write(folder, file);
        });
  }

  void take_written() {  // throws its Error, if any
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
  std::future<ShardEntry> written_;  // one at a time; last: it is awaited before the other members are destroyed
};

EncodeCounts encode_to_shards(const PackOptions& options, const PackFolder& folder, const Tokenizers& tokenizers,
                              int64_t num_lines, ShardSequence& shards, const PackProgress& progress) {
  const EncodeOptions encode{.text = options.text,
                             .max_length = options.max_length,
                             .over_long = options.over_long,
                             .threads = options.threads};
  const auto encoded = [&](int64_t lines) { progress("encoding", lines, num_lines); };
  if (!options.shuffle)
    return encode_pairs(
        encode, tokenizers.source(), tokenizers.target(), [&](int64_t, const PairIds& pair) { shards.add(pair); },
        encoded);

  const int64_t larger = std::max(tokenizers.source().size(), tokenizers.target().size());
  DiskShuffle shuffle(folder.working(), options.seed, num_lines, options.shard_pairs, narrow_bytes(larger));
  const EncodeCounts counts = encode_pairs(
      encode, tokenizers.source(), tokenizers.target(),
      [&](int64_t number, const PairIds& pair) { shuffle.add(number, pair); }, encoded);
  int64_t done = 0;
  shuffle.drain([&](const PairIds& pair) {
    shards.add(pair);
    if (++done % 4096 == 0 || done == counts.kept) progress("shuffling", done, counts.kept);
  });
  return counts;
}

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

PackSummary pack(const PackOptions& options, const PackProgress& progress) {
  check_options(options);
  PackFolder folder(options.output, options.overwrite);

  const bool train = Tokenizers::needs_training(options);
  LineSampler source_lines(options.training_lines / 2, options.seed),
      target_lines(options.training_lines / 2, options.seed);
  const int64_t num_lines = scan_pairs(
      options.text,
      [&](const TextPair& pair) {
        if (!train) return;
        source_lines.add(pair.source);
        target_lines.add(pair.target);
      },
      [&](int64_t done, int64_t total) { progress("checking", done, total); });

  const int64_t num_sampled = static_cast<int64_t>(source_lines.lines().size() + target_lines.lines().size());
  if (train) progress("training the tokenizer", 0, num_sampled);
  const Tokenizers tokenizers(options, folder, source_lines, target_lines);
  if (train) progress("training the tokenizer", num_sampled, num_sampled);
  source_lines = target_lines = LineSampler(0, 0);  // frees their memory

  ShardSequence shards(folder, tokenizers.manifest(), options.shard_pairs);
  const EncodeCounts counts = encode_to_shards(options, folder, tokenizers, num_lines, shards, progress);
  if (counts.kept == 0)
    fail(ErrorKind::data, fmt::format("no pair is left of {}: {} empty, {} longer than {} tokens (--max-length, "
                                      "--over-long cut)",
                                      counts.read, counts.empty, counts.over_long, options.max_length));

  PackSummary summary{.counts = counts, .manifest = shards.finish(), .bytes = 0};
  for (const ShardEntry& shard : summary.manifest.shards)
    summary.bytes += static_cast<int64_t>(std::filesystem::file_size(folder.working(shard.file)));
  folder.commit(summary.manifest,
                {.source_file = base_name(options.text.tsv.empty() ? options.text.source : options.text.tsv),
                 .target_file = base_name(options.text.tsv.empty() ? options.text.target : options.text.tsv),
                 .seed = options.seed,
                 .shuffled = options.shuffle,
                 .max_length = options.max_length,
                 .over_long = options.over_long == OverLong::cut ? "cut" : "drop",
                 .shard_pairs = options.shard_pairs});
  return summary;
}

}  // namespace weft
