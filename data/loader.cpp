// data/loader.cpp: plans window by window, reads in corpus order, and passes steps on from the reading thread.
#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "data/order/min_score.h"
#include "data/order/variant_turns.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kReadySteps = 4;

struct StoredText {  // identifies one variant of a pair
  int64_t variant = 0, pair = 0;
  auto operator<=>(const StoredText&) const = default;
};

// Holds the ids of a set of pairs. It reads them in corpus order, so that pairs of one shard are read together.
class PairSet {
 public:
  PairSet(Corpus& corpus, VariantTurns turns, const std::vector<EpochPair>& pairs) : turns_(turns) {
    for (const EpochPair& pair : pairs) texts_.push_back(text_of(pair));
    std::ranges::sort(texts_);
    texts_.erase(std::unique(texts_.begin(), texts_.end()), texts_.end());
    reserve(pairs_.source, corpus.manifest().source_tokens, corpus.manifest());
    reserve(pairs_.target, corpus.manifest().target_tokens, corpus.manifest());
    for (const StoredText& text : texts_) corpus.append_pair(text.pair, text.variant, pairs_);
  }

  void add_to(BlockBuilder& builder, const EpochPair& pair) const {
    const int64_t i = std::ranges::lower_bound(texts_, text_of(pair)) - texts_.begin();
    const float weight = pairs_.weights.empty() ? 1 : pairs_.weights[static_cast<size_t>(i)];
    builder.add(pairs_.source.sentence(i), pairs_.target.sentence(i), pair, weight);
  }

 private:
  // Reserves memory for the average number of tokens of these texts, plus a margin.
  void reserve(PairRun::Side& side, int64_t all_tokens, const Manifest& m) const {
    const auto texts = static_cast<int64_t>(texts_.size());
    side.offsets.reserve(texts_.size() + 1);
    side.ids.reserve(
        static_cast<size_t>((all_tokens + all_tokens / 16) / std::max<int64_t>(m.num_sentences(), 1) * texts));
  }
  StoredText text_of(const EpochPair& pair) const { return {turns_.at(pair.epoch), pair.pair}; }

  VariantTurns turns_;
  std::vector<StoredText> texts_;  // sorted
  PairRun pairs_;                  // the ids of texts_, in the same order
};

using PairSets = std::map<int64_t, PairSet>;  // by the corpus's number

Block build_block(const PlannedBlock& planned, const PairSets& sets, int64_t index, const BatchConfig& config,
                  bool weighted = false) {
  BlockBuilder builder(config.source_rows, config.rows, weighted);
  for (const EpochPair& pair : planned.pairs) sets.at(pair.corpus).add_to(builder, pair);
  return builder.finish(index);
}

// Returns the bytes of an average pair in a PairSet, including its entry in the list that the set is made from.
int64_t bytes_in_set(const Manifest& manifest) {
  return manifest.tokens_of_pair() * int64_t{sizeof(int32_t)} + 2 * int64_t{sizeof(uint64_t)} + int64_t{sizeof(float)} +
         int64_t{sizeof(StoredText)} + int64_t{sizeof(EpochPair)};
}

int64_t block_bytes(const BatchConfig& config, bool weighted = false) {
  return (2 * config.source_rows + (weighted ? 4 : 3) * config.rows) * int64_t{sizeof(int32_t)};
}

// Returns how many pairs of a window belong to `blocks` of a step's blocks. Blocks take full pages, as in a stream.
int64_t share_of_window(int64_t num_pairs, const BatchConfig& config, int64_t blocks) {
  const int64_t page = std::min(config.page, num_pairs);
  const int64_t window = std::min(config.window, num_pairs / page);
  return std::min((window + config.blocks - 1) / config.blocks * blocks * page, num_pairs);
}

std::string names_of(const Mix& mix) {
  std::string names;
  for (const MixCorpus& corpus : mix.corpora) names += (names.empty() ? "corpus " : ", corpus ") + corpus.folder;
  return names;
}

int64_t usable_pairs(const std::vector<MixCorpus>& corpora) {  // sum over the corpora
  int64_t pairs = 0;
  for (const MixCorpus& corpus : corpora) pairs += corpus.num_usable;
  return pairs;
}

struct CursoredStep : PlannedStep {
  StepCursor after;
};

struct ReadyStep {
  Step step;
  StepCursor after;
};

}  // namespace

struct Loader::Impl {
  Impl(Mix given, const BatchConfig& batch, uint64_t seed, int dp_rank, int dp_size, const StepCursor& start)
      : mix(std::move(given)),
        turns(turns_of(mix, seed)),
        config(batch),
        own(blocks_of_rank(config.blocks, dp_rank, dp_size)),
        plan(sources(), config, seed, dp_rank, dp_size, start),
        after(plan.cursor()) {}

  static std::vector<VariantTurns> turns_of(const Mix& mix, uint64_t seed);
  std::vector<MixSource> sources() const;
  std::vector<CursoredStep> plan_window();
  PairSets read_pairs(const std::vector<CursoredStep>& window);
  Step build(const PlannedStep& planned, const PairSets& sets) const;
  void read_window(std::stop_token stop);
  void run(std::stop_token stop);

  const Mix mix;

  // Once the reading thread runs, only this thread uses the following members and the corpora.
  const std::vector<VariantTurns> turns;  // by corpus
  const BatchConfig config;
  const BlockRange own;
  StepPlan plan;

  std::mutex mutex;
  std::condition_variable_any changed;
  std::deque<ReadyStep> ready;   // guarded by the mutex
  std::exception_ptr exception;  // guarded by the mutex

  StepCursor after;  // the cursor after the last step that next() returned; only the caller's thread uses it

  std::jthread thread;  // the last member, so that it stops before the others are destroyed
};

std::vector<VariantTurns> Loader::Impl::turns_of(const Mix& mix, uint64_t seed) {
  std::vector<VariantTurns> turns;
  for (const MixCorpus& corpus : mix.corpora) turns.emplace_back(seed, corpus.number, corpus.manifest().num_variants());
  return turns;
}

std::vector<MixSource> Loader::Impl::sources() const {
  std::vector<MixSource> sources;
  for (size_t i = 0; i < mix.corpora.size(); ++i) {
    const MixCorpus& corpus = mix.corpora[i];
    const auto variant_of = [turns = turns[i]](int64_t epoch) { return turns.at(epoch); };
    sources.push_back({corpus, lengths_of(*corpus.opened, corpus.min_score, variant_of)});
  }
  return sources;
}

// Plans steps until they contain about this rank's share of a window of pairs. Sorted by number, these pairs are close
// together in the window's pages. A corpus smaller than a window is planned at most one epoch ahead.
std::vector<CursoredStep> Loader::Impl::plan_window() {
  const int64_t enough = share_of_window(usable_pairs(mix.corpora), config, own.count);
  std::vector<CursoredStep> window;
  int64_t num_pairs = 0;
  do {
    window.push_back({plan.next(), plan.cursor()});
    for (const PlannedBlock& block : window.back().blocks) num_pairs += static_cast<int64_t>(block.pairs.size());
  } while (num_pairs < enough);
  return window;
}

PairSets Loader::Impl::read_pairs(const std::vector<CursoredStep>& window) {
  std::map<int64_t, std::vector<EpochPair>> wanted;
  for (const CursoredStep& step : window)
    for (const PlannedBlock& block : step.blocks)
      for (const EpochPair& pair : block.pairs) wanted[pair.corpus].push_back(pair);
  PairSets sets;
  for (size_t i = 0; i < mix.corpora.size(); ++i) {
    const MixCorpus& corpus = mix.corpora[i];
    sets.emplace(corpus.number, PairSet(*corpus.opened, turns[i], wanted[corpus.number]));
  }
  return sets;
}

Step Loader::Impl::build(const PlannedStep& planned, const PairSets& sets) const {
  Step step{.corpora = {}, .dropped = planned.dropped, .below_score = planned.below_score};
  for (size_t i = 0; i < mix.corpora.size(); ++i) {
    const int64_t epoch = planned.epochs.empty() ? 0 : planned.epochs[i];
    step.corpora.push_back({.number = mix.corpora[i].number, .epoch = epoch});
    for (const PlannedBlock& block : planned.blocks) step.corpora[i].passed += block.passed[i];
  }
  int64_t index = own.first;
  for (const PlannedBlock& block : planned.blocks)
    step.blocks.push_back(build_block(block, sets, index++, config, mix.weighted));
  if (step.blocks.empty()) step.blocks.push_back(build_block({}, sets, index, config, mix.weighted));
  return step;
}

void Loader::Impl::read_window(std::stop_token stop) {
  std::vector<CursoredStep> window = plan_window();
  const PairSets sets = read_pairs(window);
  for (CursoredStep& planned : window) {
    ReadyStep ready_step{build(planned, sets), std::move(planned.after)};
    std::unique_lock lock(mutex);
    if (!changed.wait(lock, stop, [&] { return ready.size() < kReadySteps; })) return;
    ready.push_back(std::move(ready_step));
    changed.notify_all();
  }
}

void Loader::Impl::run(std::stop_token stop) {
  try {
    const ErrorFrame frame(fmt::format("while reading ahead in {}", names_of(mix)));
    while (!stop.stop_requested()) read_window(stop);
  } catch (...) {
    const std::lock_guard lock(mutex);
    exception = std::current_exception();
    changed.notify_all();
  }
}

Loader::Loader(Mix mix, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size, const StepCursor& start)
    : impl_(std::make_unique<Impl>(std::move(mix), config, seed, dp_rank, dp_size, start)) {
  impl_->thread = std::jthread([impl = impl_.get()](std::stop_token stop) { impl->run(stop); });
}

Loader::~Loader() = default;

Step Loader::next() {
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  impl.changed.wait(lock, [&] { return !impl.ready.empty() || impl.exception; });
  if (impl.ready.empty()) std::rethrow_exception(impl.exception);
  ReadyStep ready = std::move(impl.ready.front());
  impl.ready.pop_front();
  impl.changed.notify_all();
  impl.after = std::move(ready.after);
  return std::move(ready.step);
}

StepCursor Loader::cursor() const { return impl_->after; }

// Adds the thread's PairSets, its finished steps, the step in progress, the windows of lengths, and the cached pages.
size_t read_ahead_bytes(const std::vector<PlannedCorpus>& mix, const BatchConfig& config, int dp_size) {
  const int64_t blocks = blocks_of_rank(config.blocks, /*dp_rank=*/0, dp_size).count;
  const bool weighted = std::ranges::any_of(mix, [](const PlannedCorpus& c) { return c.manifest.columns.weight; });
  const int64_t steps = static_cast<int64_t>(kReadySteps + 2) * blocks * block_bytes(config, weighted);
  int64_t in_set = 0, windows = 0, weights = 0, pairs = 0;
  size_t pages = 0;
  for (const auto& [manifest, weight] : mix) {
    in_set += weight * bytes_in_set(manifest), weights += weight, pairs += manifest.num_pairs;
    windows += share_of_window(manifest.num_pairs, config, blocks) * int64_t{sizeof(PairRows)};
    pages += cache_bytes(manifest);
  }
  return static_cast<size_t>(share_of_window(pairs, config, blocks) * (in_set / weights) + steps + windows) + pages;
}

size_t all_blocks_bytes(const Manifest& manifest, const BatchConfig& config, int dp_size) {
  const int64_t blocks = manifest.target_rows() / config.rows + 1;
  return static_cast<size_t>((blocks / dp_size + 1) * block_bytes(config)) + cache_bytes(manifest);
}

std::vector<Block> load_all_blocks(Corpus& corpus, const BatchConfig& config, int dp_rank, int dp_size) {
  const VariantTurns first_variant(0, 0, 1);
  const int64_t num_pairs = corpus.num_pairs();
  const MixCorpus alone{.folder = corpus.folder(), .num_pairs = num_pairs, .num_usable = num_pairs};
  MixPlan plan({{alone, lengths_of(corpus, std::nullopt, [](int64_t) { return int64_t{0}; })}}, config, /*seed=*/0,
               /*shuffle=*/false);
  std::vector<Block> blocks;
  PlannedBlock planned = plan.next();
  for (int64_t index = 0; !planned.pairs.empty(); ++index, planned = plan.next()) {
    if (index % dp_size != dp_rank) continue;
    PairSets sets;
    sets.emplace(0, PairSet(corpus, first_variant, planned.pairs));
    blocks.push_back(build_block(planned, sets, index, config));
  }
  if (plan.dropped() > 0)
    fail(ErrorKind::data, fmt::format("{}: {} of {} pairs do not fit into a block of {} source and {} target rows; "
                                      "raise batch.rows, or pack the set with a lower --max-length",
                                      corpus.folder(), plan.dropped(), num_pairs, config.source_rows, config.rows));
  return blocks;
}

}  // namespace weft
