// data/corpus.cpp: finds pairs in shards. Recently used shards stay open, and recently used pages of pairs stay in
// memory, so that a pair of a shuffled window usually costs a copy, not a read.
#include "data/corpus.h"

#include <algorithm>
#include <list>
#include <span>
#include <tuple>

#include "data/atomic_file.h"
#include "data/regular_file.h"
#include "data/sha256.h"
#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kPage = 256;      // pairs read at once
constexpr size_t kOpenShards = 64;  // each uses a descriptor and up to 0.5 MB of chunk cache
constexpr size_t kShardCache = 512 << 10;
constexpr size_t kCachedPages = 192;  // a little more than two shuffle windows

// Caches recently used values. A new value evicts the least recently used one if the cache is full.
template <typename Key, typename Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(size_t capacity) : capacity_(capacity) {}

  void clear() {
    places_.clear();
    entries_.clear();
  }

  template <typename Make>
  Value& get(const Key& key, Make make) {
    const auto found = places_.find(key);
    if (found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
    } else {
      if (entries_.size() == capacity_) {
        places_.erase(entries_.back().first);
        entries_.pop_back();
      }
      entries_.emplace_front(key, make());
      places_[key] = entries_.begin();
    }
    return entries_.front().second;
  }

 private:
  size_t capacity_;
  std::list<std::pair<Key, Value>> entries_;
  std::map<Key, typename std::list<std::pair<Key, Value>>::iterator> places_;
};

std::vector<int32_t> copy_of(std::span<const int32_t> ids) { return {ids.begin(), ids.end()}; }

void append(std::span<const int32_t> ids, PairRun::Side& to) {
  to.ids.insert(to.ids.end(), ids.begin(), ids.end());
  to.offsets.push_back(to.ids.size());
}

}  // namespace

struct Corpus::Impl {
  explicit Impl(const std::string& folder) : folder(folder), manifest(read_manifest(folder)) {
    for (const ShardEntry& shard : manifest.shards) starts.push_back(starts.back() + shard.num_pairs);
    verified.resize(manifest.shards.size());
  }

  ShardReader reader_of(size_t shard) {
    const ErrorFrame frame(fmt::format("while opening shard {} of {}", shard + 1, manifest.shards.size()));
    return ShardReader(folder, manifest.shards[shard],
                       {.source_vocabulary = manifest.source_vocabulary,
                        .target_vocabulary = manifest.target_vocabulary,
                        .source_tokenizer_sha256 = manifest.source_tokenizer_sha256,
                        .target_tokenizer_sha256 = manifest.target_tokenizer_sha256,
                        .columns = manifest.columns,
                        .variants = manifest.variants.count},
                       verified[shard]);
  }

  ShardReader& open_shard(size_t shard) {
    return shards.get(shard, [&] { return reader_of(shard); });
  }

  const PairRun& page(size_t shard, int64_t variant, int64_t number) {
    return pages.get({shard, variant, number}, [&] {
      const int64_t first = number * kPage;
      return open_shard(shard).read(first, std::min(kPage, manifest.shards[shard].num_pairs - first), variant);
    });
  }

  // Calls visit(shard, first pair within the shard, count) for each shard of pairs [first, first + count).
  template <typename Visit>
  void for_each_shard(int64_t first, int64_t count, Visit visit) {
    if (first < 0 || count < 0 || first > manifest.num_pairs || count > manifest.num_pairs - first)
      fail(ErrorKind::internal, fmt::format("pairs {} to {} were requested from {}, which contains only {} pairs",
                                            first, first + count, folder, manifest.num_pairs));
    const int64_t end = first + count;
    while (first < end) {
      const auto after = std::upper_bound(starts.begin(), starts.end(), first);
      const int64_t part = std::min(end, *after) - first;
      const size_t shard = static_cast<size_t>(after - starts.begin()) - 1;
      visit(shard, first - starts[shard], part);
      first += part;
    }
  }

  std::string folder;
  Manifest manifest;
  std::vector<int64_t> starts = {0};                  // [shards + 1] number of each shard's first pair
  std::vector<std::optional<FileIdentity>> verified;  // per shard, once its digest is verified
  RecentlyUsed<size_t, ShardReader> shards{kOpenShards};
  RecentlyUsed<std::tuple<size_t, int64_t, int64_t>, PairRun> pages{kCachedPages};  // keys: shard, variant, number
};

Corpus::Corpus(const std::string& folder) : impl_(std::make_unique<Impl>(folder)) {}
Corpus::~Corpus() = default;
Corpus::Corpus(Corpus&&) noexcept = default;

const std::string& Corpus::folder() const { return impl_->folder; }
const Manifest& Corpus::manifest() const { return impl_->manifest; }

size_t cache_bytes(const Manifest& m) {
  const int64_t pairs = std::min(m.num_pairs, kPage * static_cast<int64_t>(kCachedPages));
  const int64_t pair = m.tokens_of_pair() * int64_t{sizeof(int32_t)} + 2 * int64_t{sizeof(uint64_t)};
  return static_cast<size_t>(pairs * pair) + std::min(m.shards.size(), kOpenShards) * kShardCache;
}

void Corpus::verify_shards(const std::stop_token& stop) {
  for (size_t shard = 0; shard < impl_->verified.size() && !stop.stop_requested(); ++shard)
    if (!impl_->verified[shard]) impl_->reader_of(shard);
}

void Corpus::require_shards() {
  for (size_t shard = 0; shard < impl_->verified.size(); ++shard) {
    if (impl_->verified[shard])
      impl_->reader_of(shard);
    else
      open_regular_file(impl_->folder + "/" + impl_->manifest.shards[shard].file);
  }
}

void Corpus::close_shards() {
  impl_->shards.clear();
  impl_->pages.clear();
}

void Corpus::read_lengths(int64_t first, int64_t count, std::vector<PairLength>& out, int64_t variant) {
  out.resize(static_cast<size_t>(std::max<int64_t>(count, 0)));
  PairLength* next = out.data();
  impl_->for_each_shard(first, count, [&](size_t shard, int64_t begin, int64_t part) {
    impl_->open_shard(shard).read_lengths(begin, part, next, variant);
    next += part;
  });
}

void Corpus::read_scores(int64_t first, int64_t count, std::vector<float>& out) {
  out.resize(static_cast<size_t>(std::max<int64_t>(count, 0)));
  float* next = out.data();
  impl_->for_each_shard(first, count, [&](size_t shard, int64_t begin, int64_t part) {
    impl_->open_shard(shard).read_scores(begin, part, next);
    next += part;
  });
}

void Corpus::read_pairs(int64_t first, int64_t count, std::vector<PairIds>& out, int64_t variant) {
  out.clear();
  impl_->for_each_shard(first, count, [&](size_t shard, int64_t begin, int64_t part) {
    for (int64_t pair = begin; pair < begin + part; ++pair) {
      const PairRun& page = impl_->page(shard, variant, pair / kPage);
      const auto number = static_cast<size_t>(pair % kPage);
      out.push_back({.source = copy_of(page.source.sentence(pair % kPage)),
                     .target = copy_of(page.target.sentence(pair % kPage))});
      if (!page.weights.empty()) out.back().weight = page.weights[number];
      if (!page.scores.empty()) out.back().score = page.scores[number];
    }
  });
}

void Corpus::append_pair(int64_t pair, int64_t variant, PairRun& to) {
  impl_->for_each_shard(pair, 1, [&](size_t shard, int64_t place, int64_t /*one*/) {
    const PairRun& page = impl_->page(shard, variant, place / kPage);
    append(page.source.sentence(place % kPage), to.source);
    append(page.target.sentence(place % kPage), to.target);
    if (!page.weights.empty()) to.weights.push_back(page.weights[static_cast<size_t>(place % kPage)]);
  });
}

std::map<std::string, std::string> read_tokenizers(const std::string& folder, const Manifest& m) {
  std::map<std::string, std::string> files;
  for (const auto& [name, sha256] : {std::pair{&m.source_tokenizer, &m.source_tokenizer_sha256},
                                     {&m.target_tokenizer, &m.target_tokenizer_sha256}}) {
    std::string& bytes = files[*name];
    bytes = read_file(folder + "/" + *name);
    if (sha256_of(bytes) != *sha256)
      fail(ErrorKind::data, fmt::format("tokenizer {}/{} is damaged or was replaced: its SHA-256 differs from the "
                                        "manifest's; restore it from an intact copy, or pack the corpus again",
                                        folder, *name));
  }
  return files;
}

std::vector<std::string> read_references(const std::string& folder, const Manifest& m) {
  if (m.references_sha256.empty()) return {};
  const std::string path = folder + "/" + kReferencesFile, text = read_file(path);
  const std::vector<std::string_view> lines = split_lines(text);
  if (sha256_of(text) != m.references_sha256 || std::ssize(lines) != m.num_pairs)
    fail(ErrorKind::data,
         fmt::format("{} is damaged or was replaced: restore it from an intact copy, or pack the corpus again", path));
  return {lines.begin(), lines.end()};
}

}  // namespace weft
