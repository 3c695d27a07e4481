// data/shards/shard_reader.cpp: reads and checks a token shard: first the digest, then HDF5's metadata, then the data.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "data/regular_file.h"
#include "data/sha256.h"
#include "data/shards/hdf5_file.h"
#include "data/shards/shard.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr uint64_t kMaxSentence = INT32_MAX;

FileIdentity identity_of(int descriptor, const std::string& path) {
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    fail(ErrorKind::io, fmt::format("cannot read the file status of {}: {}", path, std::strerror(errno)));
  const auto nanoseconds = [](const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<uint64_t>(status.st_size),
          .modified_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim)};
}

Hdf5File open_verified(const std::string& path, const std::string& sha256, std::optional<FileIdentity>& verified) {
  const FileDescriptor file = open_regular_file(path);
  const FileIdentity identity = identity_of(file.get(), path);
  if (verified != identity && sha256_of_descriptor(file.get(), path) != sha256)
    fail(ErrorKind::data, fmt::format("shard {} is damaged: its SHA-256 differs from the manifest's; pack the corpus "
                                      "again, or restore it from an intact copy",
                                      path));
  verified = identity;
  return Hdf5File(file.get(), path);
}

class Side {  // one side of a shard
 public:
  Side(const Hdf5File& file, const char* ids, const char* offsets, int64_t num_sentences, int64_t num_tokens,
       int64_t vocabulary)
      : ids_(file.dataset(ids)), offsets_(file.dataset(offsets)), vocabulary_(vocabulary) {
    check_size(offsets_, num_sentences + 1);
    check_size(ids_, num_tokens);
    uint64_t first = 1, last = 0;
    offsets_.read(0, 1, &first);
    offsets_.read(static_cast<uint64_t>(num_sentences), 1, &last);
    if (first != 0 || last != ids_.size())
      fail(ErrorKind::data, fmt::format("{} starts with {} and ends with {}, but must start with 0 and end with {}",
                                        offsets_.name(), first, last, ids_.size()));
  }

  std::vector<uint64_t> offsets(int64_t first, int64_t count) const {  // returns count + 1 offsets
    std::vector<uint64_t> values(static_cast<size_t>(count) + 1);
    offsets_.read(static_cast<uint64_t>(first), values.size(), values.data());
    for (size_t i = 0; i + 1 < values.size(); ++i)
      if (values[i + 1] <= values[i] || values[i + 1] - values[i] > kMaxSentence || values[i + 1] > ids_.size())
        fail(ErrorKind::data,
             fmt::format("{}: offsets {} and {} are {} and {}, but these cannot be the start and end of a sentence",
                         offsets_.name(), first + static_cast<int64_t>(i), first + static_cast<int64_t>(i) + 1,
                         values[i], values[i + 1]));
    return values;
  }

  PairRun::Side read(int64_t first, int64_t count) const {
    PairRun::Side run{.offsets = offsets(first, count), .ids = {}};
    const uint64_t begin = run.offsets.front();
    run.ids.resize(run.offsets.back() - begin);
    ids_.read(begin, run.ids.size(), run.ids.data());
    for (const int32_t id : run.ids)
      if (id < 0 || id >= vocabulary_)
        fail(ErrorKind::data, fmt::format("{}: id {} is outside the vocabulary of {}", ids_.name(), id, vocabulary_));
    for (uint64_t& offset : run.offsets) offset -= begin;
    return run;
  }

 private:
  static void check_size(const Hdf5Dataset& dataset, int64_t wanted) {
    if (dataset.size() != static_cast<uint64_t>(wanted))
      fail(ErrorKind::data, fmt::format("{}: has {} elements instead of {}", dataset.name(), dataset.size(), wanted));
  }

  Hdf5Dataset ids_, offsets_;
  int64_t vocabulary_;
};

class PairNumbers {  // reads one number per pair, or none if the shard lacks the column
 public:
  PairNumbers(const Hdf5File& file, const char* dataset, bool present, int64_t num_pairs, float least) : least_(least) {
    if (!present) return;
    numbers_.emplace(file.dataset(dataset, Hdf5File::Numbers::reals));
    if (numbers_->size() != static_cast<uint64_t>(num_pairs))
      fail(ErrorKind::data,
           fmt::format("{}: has {} elements instead of {}", numbers_->name(), numbers_->size(), num_pairs));
  }

  std::vector<float> read(int64_t first, int64_t count) const {
    if (!numbers_) return {};
    std::vector<float> values(static_cast<size_t>(count));
    read(first, count, values.data());
    return values;
  }
  void read(int64_t first, int64_t count, float* out) const {
    require(numbers_.has_value(), ErrorKind::internal, "the shard lacks the column that is read");
    numbers_->read(static_cast<uint64_t>(first), static_cast<uint64_t>(count), out);
    for (int64_t i = 0; i < count; ++i)
      if (!std::isfinite(out[i]) || out[i] < least_)
        fail(ErrorKind::data, fmt::format("{}: {} is not a valid value", numbers_->name(), out[i]));
  }

 private:
  std::optional<Hdf5Dataset> numbers_;
  float least_;
};

template <typename T>
void check_equal(const std::string& path, const char* attribute, const T& found, const T& wanted) {
  if (found != wanted)
    fail(ErrorKind::data, fmt::format("{}: attribute {} is {}, but must be {}", path, attribute, found, wanted));
}

}  // namespace

struct ShardReader::Impl {
  Impl(const std::string& path, const ShardEntry& entry, const ShardHeader& header,
       std::optional<FileIdentity>& verified)
      : file(checked(open_verified(path, entry.sha256, verified), path, entry, header)),
        num_pairs(entry.num_pairs),
        source(file, "source_pieces", "source_offsets", num_pairs * std::max<int64_t>(1, header.variants),
               entry.source_tokens, header.source_vocabulary),
        target(file, "target_pieces", "target_offsets", num_pairs * std::max<int64_t>(1, header.variants),
               entry.target_tokens, header.target_vocabulary),
        weights(file, "weights", header.columns.weight, entry.num_pairs, 0),
        scores(file, "scores", header.columns.score, entry.num_pairs, std::numeric_limits<float>::lowest()) {}

  static Hdf5File checked(Hdf5File file, const std::string& path, const ShardEntry& entry, const ShardHeader& header) {
    const auto number = [&](const char* attribute, int64_t wanted) {
      check_equal(path, attribute, file.number_attribute(attribute), static_cast<uint64_t>(wanted));
    };
    number("format_version", format_version(header.columns, {.count = header.variants, .made_by = {}}));
    number("num_pairs", entry.num_pairs);
    if (header.variants > 0) number("num_variants", header.variants);
    number("source_vocabulary", header.source_vocabulary);
    number("target_vocabulary", header.target_vocabulary);
    for (const auto& [attribute, wanted] : {std::pair{"source_tokenizer_sha256", &header.source_tokenizer_sha256},
                                            std::pair{"target_tokenizer_sha256", &header.target_tokenizer_sha256}})
      check_equal(path, attribute, file.text_attribute(attribute), *wanted);
    std::vector<std::string> names = file.datasets();
    std::sort(names.begin(), names.end());
    std::vector<std::string> wanted = {"source_offsets", "source_pieces", "target_offsets", "target_pieces"};
    if (header.columns.score) wanted.insert(wanted.begin(), "scores");
    if (header.columns.weight) wanted.emplace_back("weights");
    if (names != wanted)
      fail(ErrorKind::data, fmt::format("{} must contain exactly the {} datasets of a shard", path,
                                        header.columns.any() ? fmt::format("{}", wanted.size()) : "four"));
    return file;
  }

  Hdf5File file;
  int64_t num_pairs;
  Side source, target;  // per side: the sentences of variant v start at v * num_pairs
  PairNumbers weights, scores;
};

ShardReader::ShardReader(const std::string& folder, const ShardEntry& entry, const ShardHeader& header,
                         std::optional<FileIdentity>& verified)
    : impl_(std::make_unique<Impl>((std::filesystem::path(folder) / entry.file).string(), entry, header, verified)) {}
ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;

void ShardReader::read_lengths(int64_t first, int64_t count, PairLength* out, int64_t variant) {
  const int64_t sentence = variant * impl_->num_pairs + first;
  const std::vector<uint64_t> source = impl_->source.offsets(sentence, count);
  const std::vector<uint64_t> target = impl_->target.offsets(sentence, count);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    out[i] = {static_cast<int32_t>(source[i + 1] - source[i]), static_cast<int32_t>(target[i + 1] - target[i])};
}

void ShardReader::read_scores(int64_t first, int64_t count, float* out) { impl_->scores.read(first, count, out); }

PairRun ShardReader::read(int64_t first, int64_t count, int64_t variant) {
  const int64_t sentence = variant * impl_->num_pairs + first;
  return {.source = impl_->source.read(sentence, count),
          .target = impl_->target.read(sentence, count),
          .weights = impl_->weights.read(first, count),
          .scores = impl_->scores.read(first, count)};
}

}  // namespace weft
