// data/loader.cpp: plans in prefetch windows, reads in corpus order, and hands steps over from the reading
// thread.
#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kReadySteps = 4;

BatchConfig resolved(BatchConfig config, const Corpus& corpus) {
  if (config.source_rows == 0) config.source_rows = BlockPlan::source_rows_for(corpus, config.rows);
  return config;
}

// The ids of a set of pairs, read in corpus order: pairs of one shard are read together.
class PairSet {
 public:
  PairSet(Corpus& corpus, std::vector<int64_t> pairs) : pairs_(std::move(pairs)) {
    std::ranges::sort(pairs_);
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
    ids_.reserve(pairs_.size());
    std::vector<PairIds> one;
    for (const int64_t pair : pairs_) {
      corpus.read_pairs(pair, 1, one);  // a copy: the corpus keeps the page
      ids_.push_back(std::move(one.front()));
    }
  }

  Block block(const PlannedBlock& planned, int64_t index, const BatchConfig& config) const {
    BlockBuilder builder(config.source_rows, config.rows);
    for (const int64_t pair : planned.pairs) {
      const PairIds& ids = ids_[static_cast<size_t>(std::ranges::lower_bound(pairs_, pair) - pairs_.begin())];
      builder.add(ids.source, ids.target);
    }
    return builder.finish(index);
  }

 private:
  std::vector<int64_t> pairs_;  // sorted
  std::vector<PairIds> ids_;
};

// Average sizes of a corpus's pairs.
struct PairBytes {
  explicit PairBytes(const Corpus& corpus) {
    const Manifest& m = corpus.manifest();
    id_bytes = (m.source_tokens + m.target_tokens) / std::max<int64_t>(m.num_pairs, 1) * int64_t{sizeof(int32_t)};
  }
  // In a PairSet: two allocations with their headers, rounded up, and the number, which is sorted from a
  // copy.
  int64_t in_set() const {
    return id_bytes + int64_t{sizeof(PairIds)} + 2 * kAllocation + 2 * int64_t{sizeof(int64_t)};
  }

  static constexpr int64_t kAllocation = 24;
  int64_t id_bytes = 0;  // of both sides
};

int64_t block_bytes(const BatchConfig& config) {
  return (2 * config.source_rows + 3 * config.rows) * int64_t{sizeof(int32_t)};
}

int64_t window_pairs(const Corpus& corpus, const BatchConfig& config) {
  const int64_t page = std::min(config.page, corpus.num_pairs());
  return std::min(config.window, corpus.num_pairs() / page) * page;
}

struct PlannedStep {
  int64_t epoch = 0;
  std::vector<PlannedBlock> blocks;  // of all ranks
  Cursor after;
  int64_t dropped = 0;
};

struct ReadyStep {
  Step step;
  Cursor after;
  int64_t dropped = 0;
};

}  // namespace

struct Loader::Impl {
  Impl(const std::string& folder, const BatchConfig& batch, uint64_t seed, int dp_rank, int dp_size,
       const Cursor& start)
      : corpus(folder),
        config(resolved(batch, corpus)),
        plan(corpus, config, seed),
        first_block(config.blocks * dp_rank / dp_size),
        num_blocks(config.blocks / dp_size) {
    if (config.blocks < 1 || config.blocks % dp_size != 0)
      fail(ErrorKind::usage, fmt::format("batch.blocks is {}; it must be a multiple of parallel.dp, which is {}",
                                         config.blocks, dp_size));
    plan.seek(start);
    after = plan.cursor();
    dropped = plan.dropped();
  }

  PlannedStep plan_step();
  std::vector<PlannedStep> plan_window();
  ReadyStep build(PlannedStep planned, const PairSet& pairs) const;
  void read_window(std::stop_token stop);
  void run(std::stop_token stop);

  // Used only by the reading thread once it runs.
  Corpus corpus;
  const BatchConfig config;
  BlockPlan plan;
  const int64_t first_block, num_blocks;  // this rank's blocks of each step

  std::mutex mutex;
  std::condition_variable_any changed;
  std::deque<ReadyStep> ready;   // under the mutex
  std::exception_ptr exception;  // under the mutex

  Cursor after;  // used by the caller's thread: the cursor after the last step handed out
  int64_t dropped = 0;

  std::jthread thread;  // last: it stops before the other members are destroyed
};

PlannedStep Loader::Impl::plan_step() {
  PlannedStep step{.epoch = plan.cursor().epoch, .blocks = {}, .after = {}, .dropped = 0};
  for (int64_t i = 0; i < config.blocks; ++i) step.blocks.push_back(plan.next());
  step.after = plan.cursor();
  step.dropped = plan.dropped();
  return step;
}

// Steps that together take about one window of pairs: sorted, these are close together in the window's pages.
// A corpus smaller than a window is planned at most one epoch ahead.
std::vector<PlannedStep> Loader::Impl::plan_window() {
  const int64_t enough = window_pairs(corpus, config);
  std::vector<PlannedStep> window;
  for (int64_t num_pairs = 0; num_pairs < enough;) {
    window.push_back(plan_step());
    for (const PlannedBlock& block : window.back().blocks) num_pairs += static_cast<int64_t>(block.pairs.size());
  }
  return window;
}

ReadyStep Loader::Impl::build(PlannedStep planned, const PairSet& pairs) const {
  ReadyStep ready{.step = {}, .after = std::move(planned.after), .dropped = planned.dropped};
  Step& step = ready.step;
  step.epoch = planned.epoch;
  for (int64_t i = first_block; i < first_block + num_blocks; ++i)
    step.blocks.push_back(pairs.block(planned.blocks[static_cast<size_t>(i)], i, config));
  for (const PlannedBlock& block : planned.blocks) {
    step.num_source_tokens += block.source_tokens;
    step.num_target_tokens += block.target_tokens;
  }
  step.fill = static_cast<double>(step.num_source_tokens + step.num_target_tokens) /
              static_cast<double>(config.blocks * (config.source_rows + config.rows));
  return ready;
}

void Loader::Impl::read_window(std::stop_token stop) {
  std::vector<PlannedStep> window = plan_window();
  std::vector<int64_t> wanted;
  for (const PlannedStep& step : window)
    for (int64_t i = first_block; i < first_block + num_blocks; ++i) {
      const std::vector<int64_t>& pairs = step.blocks[static_cast<size_t>(i)].pairs;
      wanted.insert(wanted.end(), pairs.begin(), pairs.end());
    }
  const PairSet pairs(corpus, std::move(wanted));
  for (PlannedStep& planned : window) {
    ReadyStep step = build(std::move(planned), pairs);
    std::unique_lock lock(mutex);
    if (!changed.wait(lock, stop, [&] { return ready.size() < kReadySteps; })) return;
    ready.push_back(std::move(step));
    changed.notify_all();
  }
}

void Loader::Impl::run(std::stop_token stop) {
  try {
    const ErrorFrame frame(fmt::format("while reading ahead in corpus {}", corpus.folder()));
    while (!stop.stop_requested()) read_window(stop);
  } catch (...) {
    const std::lock_guard lock(mutex);
    exception = std::current_exception();
    changed.notify_all();
  }
}

Loader::Loader(const std::string& corpus_folder, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size,
               const Cursor& start)
    : impl_(std::make_unique<Impl>(corpus_folder, config, seed, dp_rank, dp_size, start)) {
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
  impl.dropped = ready.dropped;
  return std::move(ready.step);
}

Cursor Loader::cursor() const { return impl_->after; }

int64_t Loader::dropped() const { return impl_->dropped; }

// The thread's set and finished steps, the step in progress, a window of lengths, and the corpus's pages.
size_t read_ahead_bytes(const Corpus& corpus, const BatchConfig& batch, int dp_size) {
  const BatchConfig config = resolved(batch, corpus);
  const int64_t pairs = window_pairs(corpus, config);
  const int64_t set = pairs / dp_size * PairBytes(corpus).in_set();
  const int64_t steps = static_cast<int64_t>(kReadySteps + 2) * config.blocks / dp_size * block_bytes(config);
  const int64_t window = pairs * int64_t{sizeof(PairRows)};
  return static_cast<size_t>(set + steps + window) + corpus.cache_bytes();
}

size_t all_blocks_bytes(const Corpus& corpus, const BatchConfig& batch, int dp_size) {
  const BatchConfig config = resolved(batch, corpus);
  const Manifest& m = corpus.manifest();
  const int64_t blocks = (m.target_tokens + m.num_pairs) / config.rows + 1;
  return static_cast<size_t>((blocks / dp_size + 1) * block_bytes(config)) + corpus.cache_bytes();
}

std::vector<Block> load_all_blocks(const std::string& corpus_folder, const BatchConfig& config, int dp_rank,
                                   int dp_size) {
  Corpus corpus(corpus_folder);
  const BatchConfig batch = resolved(config, corpus);
  BlockPlan plan(corpus, batch, /*seed=*/0, /*shuffle=*/false);
  std::vector<Block> blocks;
  PlannedBlock planned = plan.next();
  for (int64_t index = 0; !planned.pairs.empty(); ++index, planned = plan.next())
    if (index % dp_size == dp_rank) blocks.push_back(PairSet(corpus, planned.pairs).block(planned, index, batch));
  if (plan.dropped() > 0)
    fail(ErrorKind::data,
         fmt::format("{}: {} of {} pairs do not fit a block of {} source and {} target rows; raise "
                     "batch.rows, or pack the set with shorter pairs",
                     corpus_folder, plan.dropped(), corpus.num_pairs(), batch.source_rows, batch.rows));
  return blocks;
}

}  // namespace weft
