// data/loader.cpp: plans in prefetch windows, reads in corpus order, and hands steps over from the reading
// thread.
#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "data/min_score.h"
#include "data/variant_turns.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kReadySteps = 4;

BatchConfig resolved(BatchConfig config, const Corpus& corpus) {
  if (config.source_rows == 0) config.source_rows = BlockPlan::source_rows_for(corpus, config.rows);
  return config;
}

BatchConfig resolved(BatchConfig config, const Mix& mix) {
  if (config.source_rows == 0) config.source_rows = source_rows_for(mix, open_corpora(mix), config.rows);
  return config;
}

struct StoredText {  // of one of its variants
  int64_t variant = 0, pair = 0;
  auto operator<=>(const StoredText&) const = default;
};

// The ids of a set of pairs, read in corpus order: pairs of one shard are read together.
class PairSet {
 public:
  PairSet(Corpus& corpus, VariantTurns turns, const std::vector<PairVisit>& visits) : turns_(turns) {
    for (const PairVisit& visit : visits) texts_.push_back(text_of(visit));
    std::ranges::sort(texts_);
    texts_.erase(std::unique(texts_.begin(), texts_.end()), texts_.end());
    ids_.reserve(texts_.size());
    std::vector<PairIds> one;
    for (const StoredText& text : texts_) {
      corpus.read_pairs(text.pair, 1, one, text.variant);  // a copy: the corpus keeps the page
      ids_.push_back(std::move(one.front()));
    }
  }

  const PairIds& ids(const PairVisit& visit) const {
    return ids_[static_cast<size_t>(std::ranges::lower_bound(texts_, text_of(visit)) - texts_.begin())];
  }

 private:
  StoredText text_of(const PairVisit& visit) const { return {turns_.at(visit.visit), visit.pair}; }

  VariantTurns turns_;
  std::vector<StoredText> texts_;  // sorted
  std::vector<PairIds> ids_;
};

using PairSets = std::map<int64_t, PairSet>;  // of each corpus, by number

Block build_block(const PlannedBlock& planned, const PairSets& sets, int64_t index, const BatchConfig& config,
                  bool weighted = false) {
  BlockBuilder builder(config.source_rows, config.rows, weighted);
  for (const PairVisit& pair : planned.pairs) {
    const PairIds& ids = sets.at(pair.corpus).ids(pair);
    builder.add(ids.source, ids.target, pair, ids.weight);
  }
  return builder.finish(index);
}

// Average sizes of a corpus's pairs.
struct PairBytes {
  explicit PairBytes(const Corpus& corpus) {
    const Manifest& m = corpus.manifest();
    id_bytes = (m.source_tokens + m.target_tokens) / std::max<int64_t>(m.num_sentences(), 1) * int64_t{sizeof(int32_t)};
  }
  // In a PairSet: two allocations with their headers, rounded up, and the text's number, which is sorted from a
  // copy of the visits.
  int64_t in_set() const {
    return id_bytes + int64_t{sizeof(PairIds)} + 2 * kAllocation + int64_t{sizeof(StoredText)} +
           int64_t{sizeof(PairVisit)};
  }

  static constexpr int64_t kAllocation = 24;
  int64_t id_bytes = 0;  // of both sides
};

int64_t block_bytes(const BatchConfig& config, bool weighted = false) {
  return (2 * config.source_rows + (weighted ? 4 : 3) * config.rows) * int64_t{sizeof(int32_t)};
}

// Pairs of a window's share of so many of a step's blocks: whole pages for each, as its stream reads them.
int64_t share_of_window(int64_t num_pairs, const BatchConfig& config, int64_t blocks) {
  const int64_t page = std::min(config.page, num_pairs);
  const int64_t window = std::min(config.window, num_pairs / page);
  return std::min((window + config.blocks - 1) / config.blocks * blocks * page, num_pairs);
}

std::vector<Corpus*> pointers_to(std::vector<Corpus>& corpora) {
  std::vector<Corpus*> pointers;
  for (Corpus& corpus : corpora) pointers.push_back(&corpus);
  return pointers;
}

int64_t pairs_of(const std::vector<Corpus>& corpora) {
  int64_t pairs = 0;
  for (const Corpus& corpus : corpora) pairs += corpus.num_pairs();
  return pairs;
}

std::string names_of(const Mix& mix) {
  std::string names;
  for (const Mix::Part& part : mix.parts) names += (names.empty() ? "corpus " : ", corpus ") + mix.folder(part);
  return names;
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
  Impl(const Mix& mix, std::vector<Corpus> opened, const std::vector<Corpus*>& given, const BatchConfig& batch,
       uint64_t seed, int dp_rank, int dp_size, const StepCursor& start)
      : mix(mix),
        own_corpora(std::move(opened)),
        corpora(given.empty() ? pointers_to(own_corpora) : given),
        turns(turns_of(mix, corpora, seed)),
        config(resolved(batch, mix)),
        own(blocks_of_rank(config.blocks, dp_rank, dp_size)),
        plan(sources(), config, seed, dp_rank, dp_size, start),
        after(plan.cursor()) {}

  static std::vector<VariantTurns> turns_of(const Mix& mix, const std::vector<Corpus*>& corpora, uint64_t seed);
  std::vector<MixSource> sources();
  std::vector<CursoredStep> plan_window();
  PairSets read_pairs(const std::vector<CursoredStep>& window);
  Step build(const PlannedStep& planned, const PairSets& sets) const;
  void read_window(std::stop_token stop);
  void run(std::stop_token stop);

  const Mix mix;

  // Used only by the reading thread once it runs.
  std::vector<Corpus> own_corpora;        // none if they were given
  const std::vector<Corpus*> corpora;     // of the mix's parts
  const std::vector<VariantTurns> turns;  // of each
  const BatchConfig config;
  const BlockRange own;
  int64_t pairs_of_epoch = 0;  // of all corpora that have the least score; counted for the plan
  StepPlan plan;

  std::mutex mutex;
  std::condition_variable_any changed;
  std::deque<ReadyStep> ready;   // under the mutex
  std::exception_ptr exception;  // under the mutex

  StepCursor after;  // used by the caller's thread: the cursor after the last step handed out

  std::jthread thread;  // last: it stops before the other members are destroyed
};

std::vector<VariantTurns> Loader::Impl::turns_of(const Mix& mix, const std::vector<Corpus*>& corpora, uint64_t seed) {
  std::vector<VariantTurns> turns;
  for (size_t i = 0; i < corpora.size(); ++i)
    turns.emplace_back(seed, mix.parts[i].corpus, corpora[i]->manifest().num_variants());
  return turns;
}

std::vector<MixSource> Loader::Impl::sources() {
  std::vector<MixSource> sources;
  for (size_t i = 0; i < corpora.size(); ++i) {
    const Mix::Part& part = mix.parts[i];
    sources.push_back(
        {.corpus = part.corpus,
         .weight = part.weight,
         .num_pairs = corpora[i]->num_pairs(),
         .num_passing = part.min_score ? num_passing(mix.folder(part), *part.min_score) : corpora[i]->num_pairs(),
         .lengths =
             lengths_of(*corpora[i], part.min_score, [turns = turns[i]](int64_t visit) { return turns.at(visit); }),
         .name = corpora.size() == 1 ? "the corpus" : mix.folder(part)});
    pairs_of_epoch += sources.back().num_passing;
  }
  return sources;
}

// Steps that together take about this rank's share of a window of pairs: sorted, these are close together in the
// window's pages. A corpus smaller than a window is planned at most one epoch ahead.
std::vector<CursoredStep> Loader::Impl::plan_window() {
  const int64_t enough = share_of_window(pairs_of_epoch, config, own.count);
  std::vector<CursoredStep> window;
  int64_t num_pairs = 0;
  do {
    window.push_back({plan.next(), plan.cursor()});
    for (const PlannedBlock& block : window.back().blocks) num_pairs += static_cast<int64_t>(block.pairs.size());
  } while (num_pairs < enough);
  return window;
}

PairSets Loader::Impl::read_pairs(const std::vector<CursoredStep>& window) {
  std::map<int64_t, std::vector<PairVisit>> wanted;
  for (const CursoredStep& step : window)
    for (const PlannedBlock& block : step.blocks)
      for (const PairVisit& pair : block.pairs) wanted[pair.corpus].push_back(pair);
  PairSets sets;
  for (size_t i = 0; i < corpora.size(); ++i) {
    const int64_t number = mix.parts[i].corpus;
    sets.emplace(number, PairSet(*corpora[i], turns[i], wanted[number]));
  }
  return sets;
}

Step Loader::Impl::build(const PlannedStep& planned, const PairSets& sets) const {
  Step step{.corpora = {}, .dropped = planned.dropped, .below_score = planned.below_score};
  for (size_t i = 0; i < corpora.size(); ++i) {
    const int64_t epoch = planned.epochs.empty() ? 0 : planned.epochs[i];
    step.corpora.push_back({.number = mix.parts[i].corpus, .epoch = epoch});
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

Loader::Loader(const std::string& corpus_folder, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size,
               const StepCursor& start)
    : Loader(Mix::of_folder(corpus_folder), config, seed, dp_rank, dp_size, start) {}

Loader::Loader(const Mix& mix, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size,
               const StepCursor& start)
    : Loader(mix, {}, config, seed, dp_rank, dp_size, start) {}

Loader::Loader(const Mix& mix, const std::vector<Corpus*>& corpora, const BatchConfig& config, uint64_t seed,
               int dp_rank, int dp_size, const StepCursor& start)
    : impl_(std::make_unique<Impl>(mix, corpora.empty() ? open_corpora(mix) : std::vector<Corpus>(), corpora, config,
                                   seed, dp_rank, dp_size, start)) {
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

// The thread's set and finished steps, the step in progress, windows of lengths, and the pages of the corpora.
size_t read_ahead_bytes(const Mix& mix, const BatchConfig& batch, int dp_size) {
  const std::vector<Corpus> corpora = open_corpora(mix);
  const BatchConfig config = resolved(batch, mix);
  const int64_t blocks = blocks_of_rank(config.blocks, /*dp_rank=*/0, dp_size).count;
  const int64_t pairs = share_of_window(pairs_of(corpora), config, blocks);
  const bool weighted = std::ranges::any_of(corpora, [](const Corpus& c) { return c.manifest().columns.weight; });
  const int64_t steps = static_cast<int64_t>(kReadySteps + 2) * blocks * block_bytes(config, weighted);
  int64_t in_set = 0, windows = 0, weights = 0;
  size_t pages = 0;
  for (size_t i = 0; i < corpora.size(); ++i) {
    const int64_t weight = mix.parts[i].weight;
    in_set += weight * PairBytes(corpora[i]).in_set(), weights += weight;
    windows += share_of_window(corpora[i].num_pairs(), config, blocks) * int64_t{sizeof(PairRows)};
    pages += corpora[i].cache_bytes();
  }
  return static_cast<size_t>(pairs * (in_set / weights) + steps + windows) + pages;
}

size_t all_blocks_bytes(const Corpus& corpus, const BatchConfig& batch, int dp_size) {
  const BatchConfig config = resolved(batch, corpus);
  const Manifest& m = corpus.manifest();
  const int64_t blocks = m.target_rows() / config.rows + 1;
  return static_cast<size_t>((blocks / dp_size + 1) * block_bytes(config)) + corpus.cache_bytes();
}

static Block read_block(Corpus& corpus, const PlannedBlock& planned, int64_t index, const BatchConfig& config) {
  PairSets sets;
  sets.emplace(0, PairSet(corpus, VariantTurns(0, 0, 1), planned.pairs));
  return build_block(planned, sets, index, config);
}

std::vector<Block> load_all_blocks(const std::string& corpus_folder, const BatchConfig& config, int dp_rank,
                                   int dp_size) {
  Corpus corpus(corpus_folder);
  const BatchConfig batch = resolved(config, corpus);
  BlockPlan plan(corpus, batch, /*seed=*/0, /*shuffle=*/false);
  std::vector<Block> blocks;
  PlannedBlock planned = plan.next();
  for (int64_t index = 0; !planned.pairs.empty(); ++index, planned = plan.next())
    if (index % dp_size == dp_rank) blocks.push_back(read_block(corpus, planned, index, batch));
  if (plan.dropped() > 0)
    fail(ErrorKind::data,
         fmt::format("{}: {} of {} pairs do not fit a block of {} source and {} target rows; raise "
                     "batch.rows, or pack the set with shorter pairs",
                     corpus_folder, plan.dropped(), corpus.num_pairs(), batch.source_rows, batch.rows));
  return blocks;
}

}  // namespace weft
