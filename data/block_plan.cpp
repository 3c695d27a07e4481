// data/block_plan.cpp: fills blocks greedily from the order of pairs.
#include "data/block_plan.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

struct Candidate : PairRows {
  int64_t age = 0;  // increases as candidates are drawn
};

// Integers only, so that every machine chooses alike.
struct Space {
  int64_t source = 0, target = 0;  // rows

  bool holds(const PairRows& c) const { return c.source <= source && c.target <= target; }
  Space without(const PairRows& c) const { return {source - c.source, target - c.target}; }
  Space with(const PairRows& c) const { return {source + c.source, target + c.target}; }
  // Of the free space of a block of `whole`: how much it differs between the two sides.
  int64_t imbalance(const Space& whole) const { return std::abs(source * whole.target - target * whole.source); }
  int64_t worse_side(const Space& whole) const { return std::max(source * whole.target, target * whole.source); }
};

const BatchConfig& checked(const BatchConfig& config) {
  const auto at_least_one = [](const char* name, int64_t value) {
    if (value < 1) fail(ErrorKind::usage, fmt::format("batch.{} is {}; it must be at least 1", name, value));
  };
  at_least_one("rows", config.rows);
  at_least_one("source_rows", config.source_rows);
  at_least_one("look_ahead", config.look_ahead);
  at_least_one("page", config.page);
  at_least_one("window", config.window);
  return config;
}

constexpr const char* kNoPairs = "the corpus holds no pairs; pack one that does with `weft pack`";

}  // namespace

struct BlockPlan::Impl {
  Impl(int64_t num_pairs, LengthSource lengths, const BatchConfig& config, uint64_t seed, bool shuffle, Stream stream)
      : num_pairs(num_pairs),
        whole{config.source_rows, config.rows},
        look_ahead(shuffle ? static_cast<size_t>(std::min(config.look_ahead, num_pairs)) : 1),
        shuffle(shuffle),
        order(num_pairs, std::move(lengths), config.page, config.window, seed, shuffle, stream) {
    stand_at(0, 0);
  }

  void stand_at(int64_t new_epoch, int64_t new_position);
  std::optional<PairRows> draw();
  void refill();
  std::optional<size_t> most_balanced(const Space& free) const;
  Space exchange_one(std::vector<Candidate>& taken, Space free);

  int64_t num_pairs;
  Space whole;        // of an empty block
  size_t look_ahead;  // at most the corpus, or a tiny one would be pending several times
  bool shuffle;
  PairOrder order;

  int64_t epoch = 0, position = 0;
  std::vector<Candidate> pending;  // oldest first
  int64_t num_drawn = 0, dropped = 0;
};

void BlockPlan::Impl::stand_at(int64_t new_epoch, int64_t new_position) {
  epoch = new_epoch;
  position = new_position;
  while (position == order.size(epoch)) ++epoch, position = 0;  // its part of an epoch may be empty
}

// The stream's next pair that fits a block; nothing at the end of an unshuffled corpus.
std::optional<PairRows> BlockPlan::Impl::draw() {
  const int64_t most = 2 * num_pairs;  // the rest of this epoch, and all of the next
  for (int64_t tried = 0; shuffle || epoch == 0; ++tried) {
    if (tried == most)
      fail(ErrorKind::data, fmt::format("no pair of the corpus fits a block of {} source and {} target rows; raise "
                                        "batch.rows",
                                        whole.source, whole.target));
    const PairRows pair = order.at(epoch, position);
    stand_at(epoch, position + 1);
    if (whole.holds(pair)) return pair;
    ++dropped;
  }
  return std::nullopt;
}

void BlockPlan::Impl::refill() {
  while (pending.size() < look_ahead) {
    const std::optional<PairRows> pair = draw();
    if (!pair) return;
    pending.push_back({*pair, num_drawn++});
  }
}

// The candidate that fits into the free space and leaves both sides filled most evenly.
std::optional<size_t> BlockPlan::Impl::most_balanced(const Space& free) const {
  std::optional<size_t> best;
  int64_t least = 0;
  for (size_t i = 0; i < pending.size(); ++i) {
    if (!free.holds(pending[i])) continue;
    const int64_t imbalance = free.without(pending[i]).imbalance(whole);
    if (best && imbalance >= least) continue;
    best = i;
    least = imbalance;
  }
  return best;
}

// When no candidate fits any more: exchanges a taken pair for a pending one so that the least space stays
// free. The first pair, whose turn it was, stays. The exchanged pair returns to its old place in the queue.
// Returns the free space.
Space BlockPlan::Impl::exchange_one(std::vector<Candidate>& taken, Space free) {
  std::pair<Candidate*, Candidate*> best{};
  int64_t least = free.worse_side(whole);
  for (size_t i = 1; i < taken.size(); ++i) {
    const Space without = free.with(taken[i]);
    for (Candidate& candidate : pending) {
      if (!without.holds(candidate)) continue;
      const int64_t left = without.without(candidate).worse_side(whole);
      if (left >= least) continue;
      least = left;
      best = {&taken[i], &candidate};
    }
  }
  if (best.first == nullptr) return free;
  std::swap(*best.first, *best.second);
  free = free.with(*best.second).without(*best.first);
  std::ranges::sort(pending, {}, &Candidate::age);
  return free;
}

BlockPlan::BlockPlan(Corpus& corpus, const BatchConfig& config, uint64_t seed, bool shuffle)
    : BlockPlan(
          corpus.num_pairs(),
          [&corpus](int64_t first, int64_t count, std::vector<PairLength>& out) {
            corpus.read_lengths(first, count, out);
          },
          config, seed, shuffle) {}

BlockPlan::BlockPlan(int64_t num_pairs, LengthSource lengths, const BatchConfig& config, uint64_t seed, bool shuffle,
                     Stream stream) {
  require(num_pairs > 0, ErrorKind::data, kNoPairs);
  impl_ = std::make_unique<Impl>(num_pairs, std::move(lengths), checked(config), seed, shuffle, stream);
}

BlockPlan::BlockPlan(BlockPlan&&) noexcept = default;

BlockPlan::~BlockPlan() = default;

PlannedBlock BlockPlan::next() {
  Impl& plan = *impl_;
  Space free = plan.whole;
  std::vector<Candidate> taken;
  plan.refill();
  std::optional<size_t> pick;
  if (!plan.pending.empty()) pick = 0;  // the oldest, whatever its lengths: it fits an empty block
  while (pick) {
    const auto candidate = plan.pending.begin() + static_cast<std::ptrdiff_t>(*pick);
    taken.push_back(*candidate);
    free = free.without(*candidate);
    plan.pending.erase(candidate);
    plan.refill();
    pick = plan.most_balanced(free);
  }
  if (plan.shuffle) free = plan.exchange_one(taken, free);

  PlannedBlock block;
  for (const Candidate& c : taken) block.pairs.push_back(c.pair);
  block.source_tokens = plan.whole.source - free.source;
  block.target_tokens = plan.whole.target - free.target;
  return block;
}

Cursor BlockPlan::cursor() const {
  Cursor cursor{impl_->epoch, impl_->position, {}};
  for (const Candidate& c : impl_->pending) cursor.pending.push_back(c.pair);
  return cursor;
}

int64_t BlockPlan::epoch() const { return impl_->epoch; }

void BlockPlan::seek(const Cursor& cursor) {
  Impl& plan = *impl_;
  const auto outside = [&](int64_t pair) { return pair < 0 || pair >= plan.num_pairs; };
  if (cursor.epoch < 0 || cursor.position < 0 || cursor.position > plan.order.size(cursor.epoch) ||
      std::ranges::any_of(cursor.pending, outside))
    fail(ErrorKind::checkpoint,
         fmt::format("the data cursor (epoch {}, position {}) points outside a corpus of {} pairs; resume with the "
                     "data.train that the run began with",
                     cursor.epoch, cursor.position, plan.num_pairs));
  plan.stand_at(cursor.epoch, cursor.position);
  plan.pending.clear();
  for (const int64_t pair : cursor.pending) {
    const PairRows rows = plan.order.lookup(pair);
    if (plan.whole.holds(rows))
      plan.pending.push_back({rows, plan.num_drawn++});
    else
      ++plan.dropped;
  }
}

int64_t BlockPlan::dropped() const { return impl_->dropped; }

int64_t BlockPlan::source_rows_for(const Corpus& corpus, int64_t target_rows) {
  const Manifest& m = corpus.manifest();
  const int64_t source = m.source_tokens + m.num_pairs, target = m.target_tokens + m.num_pairs;
  require(target > 0, ErrorKind::data, kNoPairs);
  return std::max<int64_t>(1, (source * target_rows + 8 * target) / (16 * target)) * 16;
}

}  // namespace weft
