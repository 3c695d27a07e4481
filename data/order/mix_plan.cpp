// data/order/mix_plan.cpp: fills blocks greedily with pairs of the corpora, which take turns.
#include "data/order/mix_plan.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "data/order/turns.h"
#include "tensor/error.h"

namespace weft {
namespace {

struct Candidate : PairRows {
  int64_t epoch = 0;
  int64_t age = 0;  // number of candidates drawn before this one
};

// Space is counted in integers, so that every machine chooses the same pair.
struct Space {
  int64_t source = 0, target = 0;  // rows

  bool holds(const PairRows& c) const { return c.source <= source && c.target <= target; }
  Space without(const PairRows& c) const { return {source - c.source, target - c.target}; }
  Space with(const PairRows& c) const { return {source + c.source, target + c.target}; }
  // Returns how unevenly this free space is divided between the two sides of a block of size `whole`.
  int64_t imbalance(const Space& whole) const { return std::abs(source * whole.target - target * whole.source); }
  int64_t worse_side(const Space& whole) const { return std::max(source * whole.target, target * whole.source); }
};

// The first corpus of a run uses the run's seed. Other corpora use different seeds, so that their pages are permuted
// differently.
uint64_t seed_of_corpus(uint64_t seed, int64_t corpus) {
  if (corpus == 0) return seed;
  const PhiloxBits bits = philox(seed, static_cast<uint64_t>(corpus), 0, purpose_of("data.corpus"));
  return (static_cast<uint64_t>(bits.v[1]) << 32) | bits.v[0];
}

// Returns a share from `least` to `most` that is, if possible, so small that a stream's part of an epoch has several.
// Otherwise, streams could be in different epochs of a small corpus, or a pair could be pending twice.
int64_t share_of_stream(int64_t num_pairs, int64_t most, int64_t num_streams, int64_t least = 1) {
  constexpr int64_t kSeveral = 4;
  if (num_streams == 1) return most;
  return std::clamp<int64_t>(num_pairs / (kSeveral * num_streams), std::min(least, most), most);
}

constexpr int64_t kMinLookAhead = 4;  // with fewer, blocks of a tiny corpus in many streams would not be full

// Reads one corpus of the mix. It holds the next place in the corpus's order, and the candidates.
struct Source {
  Source(const MixCorpus& of, LengthSource lengths, const BatchConfig& config, uint64_t seed, bool shuffle,
         Stream stream)
      : corpus(of),
        whole{config.source_rows, config.rows},
        look_ahead(shuffle
                       ? static_cast<size_t>(share_of_stream(of.num_usable, std::min(config.look_ahead, of.num_usable),
                                                             stream.count, kMinLookAhead))
                       : 1),
        shuffle(shuffle),
        most_tries((stream.count == 1 ? 2 : 64) * of.num_pairs),
        order(order_of(of.num_pairs, std::move(lengths), config, seed_of_corpus(seed, of.number), shuffle, stream)) {
    move_to(0, 0);
  }

  // If pages are smaller than configured, a window contains more pages, and thus as many pairs as configured.
  static PairOrder order_of(int64_t num_pairs, LengthSource lengths, const BatchConfig& config, uint64_t seed,
                            bool shuffle, Stream stream) {
    const int64_t page = share_of_stream(num_pairs, config.page, stream.count);
    return {num_pairs,
            std::move(lengths),
            {.page = page, .window = config.window * config.page / page, .seed = seed, .enabled = shuffle},
            stream};
  }

  void move_to(int64_t new_epoch, int64_t new_position);
  bool draw();
  void refill();
  std::optional<size_t> most_balanced(const Space& free) const;
  Cursor cursor() const;
  void seek(const Cursor& cursor);

  int64_t passed_over() {  // pairs passed over since the last call
    return dropped + below_score - std::exchange(reported, dropped + below_score);
  }

  MixCorpus corpus;
  Space whole;        // space of an empty block
  size_t look_ahead;  // at most the size of the corpus, so that no pair is pending several times
  bool shuffle;
  // A single stream searches the rest of an epoch and all of the next epoch for a pair. With several streams, one
  // stream's part of two epochs may contain no usable pair, so each stream searches longer.
  int64_t most_tries;
  PairOrder order;

  int64_t epoch = 0, position = 0;
  std::vector<Candidate> pending;  // oldest first
  int64_t num_drawn = 0, dropped = 0, below_score = 0, reported = 0;
};

void Source::move_to(int64_t new_epoch, int64_t new_position) {
  epoch = new_epoch;
  position = new_position;
  while (position == order.size(epoch)) ++epoch, position = 0;  // the stream's part of an epoch may be empty
}

// Adds the stream's next pair that fits into a block to `pending`. Returns false at the end of an unshuffled corpus.
bool Source::draw() {
  for (int64_t tried = 0; shuffle || epoch == 0; ++tried) {
    if (tried == most_tries)
      fail(ErrorKind::data,
           fmt::format("no pair of {} fits into a block of {} source and {} target rows; raise batch.rows",
                       corpus.folder, whole.source, whole.target));
    const PairRows pair = order.at(epoch, position);
    const int64_t of_pair = epoch;
    move_to(epoch, position + 1);
    if (pair.is_below_score()) {
      ++below_score;
      continue;
    }
    if (whole.holds(pair)) {
      pending.push_back({pair, of_pair, num_drawn++});
      return true;
    }
    ++dropped;
  }
  return false;
}

void Source::refill() {
  while (pending.size() < look_ahead && draw()) {
  }
}

// Returns the candidate that fits into the free space and leaves both sides filled most evenly.
std::optional<size_t> Source::most_balanced(const Space& free) const {
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

Cursor Source::cursor() const {
  Cursor cursor{.epoch = epoch, .position = position};
  for (const Candidate& c : pending) {
    cursor.pending.push_back(c.pair);
    cursor.epochs.push_back(c.epoch);
  }
  if (std::ranges::all_of(cursor.epochs, [&](int64_t of_pair) { return of_pair == epoch; })) cursor.epochs.clear();
  return cursor;
}

void Source::seek(const Cursor& cursor) {
  const auto outside = [&](int64_t pair) { return pair < 0 || pair >= corpus.num_pairs; };
  const auto unknown = [&](int64_t of_pair) { return of_pair < 0 || of_pair > cursor.epoch; };
  if (cursor.epoch < 0 || cursor.position < 0 || cursor.position > order.size(cursor.epoch) ||
      std::ranges::any_of(cursor.pending, outside) || std::ranges::any_of(cursor.epochs, unknown) ||
      (!cursor.epochs.empty() && cursor.epochs.size() != cursor.pending.size()))
    fail(ErrorKind::checkpoint, fmt::format("the data cursor (epoch {}, position {}) points outside a corpus of {} "
                                            "pairs; resume with the run's original data.train",
                                            cursor.epoch, cursor.position, corpus.num_pairs));
  move_to(cursor.epoch, cursor.position);
  pending.clear();
  for (size_t i = 0; i < cursor.pending.size(); ++i) {
    const int64_t of_pair = cursor.epochs.empty() ? cursor.epoch : cursor.epochs[i];
    const PairRows rows = order.lookup(cursor.pending[i], of_pair);
    if (rows.is_below_score())
      ++below_score;
    else if (whole.holds(rows))
      pending.push_back({rows, of_pair, num_drawn++});
    else
      ++dropped;
  }
}

constexpr const char* kNoTurns =
    "the data cursor belongs to a different mix of corpora; resume with the run's original data.train";

std::vector<int64_t> weights_of(const std::vector<MixSource>& mix) {
  std::vector<int64_t> weights;
  for (const MixSource& source : mix) weights.push_back(source.corpus.weight);
  return weights;
}

}  // namespace

struct MixPlan::Impl {
  struct Pick {
    size_t source = 0, candidate = 0;
  };
  struct Taken : Candidate {
    size_t source = 0;
  };

  Impl(std::vector<MixSource> mix, const BatchConfig& config, uint64_t seed, bool shuffle, Stream stream)
      : whole{config.source_rows, config.rows},
        shuffle(shuffle),
        weights(weights_of(mix)),
        stream(stream),
        turns(weights, stream.index),
        begins(turns) {
    for (MixSource& source : mix)
      sources.emplace_back(source.corpus, std::move(source.lengths), config, seed, shuffle, stream);
  }

  std::optional<Pick> first_pick();
  std::optional<Pick> next_pick(const Space& free) const;
  Space exchange_one(std::vector<Taken>& taken, Space free);

  Space whole;  // space of an empty block
  bool shuffle;
  std::vector<int64_t> weights;
  Stream stream;
  std::vector<Source> sources;
  Turns turns, begins;            // turns to yield a pair, and to start a block
  std::vector<Cursor> elsewhere;  // seek()'s cursors of corpora that are not in the mix
};

// Picks the oldest candidate of the corpus whose turn it is. Every candidate fits into an empty block.
std::optional<MixPlan::Impl::Pick> MixPlan::Impl::first_pick() {
  const size_t source = begins.next();
  begins.take(source);
  if (sources[source].pending.empty()) return std::nullopt;
  return Pick{source, 0};
}

// Picks a candidate of the corpus whose turn it is or, if none fits, of any corpus that is not too far ahead.
std::optional<MixPlan::Impl::Pick> MixPlan::Impl::next_pick(const Space& free) const {
  const size_t turn = turns.next();
  if (const auto candidate = sources[turn].most_balanced(free)) return Pick{turn, *candidate};
  std::optional<Pick> best;
  int64_t least = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (i == turn || !turns.may_take(i)) continue;
    const auto candidate = sources[i].most_balanced(free);
    if (!candidate) continue;
    const int64_t imbalance = free.without(sources[i].pending[*candidate]).imbalance(whole);
    if (best && imbalance >= least) continue;
    best = {i, *candidate};
    least = imbalance;
  }
  return best;
}

// Called when no candidate fits any more. Exchanges a taken pair for a pending pair of the same corpus so that as
// little space as possible stays free. The block's first pair stays. The pair that leaves the block returns to its old
// place in the queue. Returns the free space.
Space MixPlan::Impl::exchange_one(std::vector<Taken>& taken, Space free) {
  std::pair<Taken*, Candidate*> best{};
  int64_t least = free.worse_side(whole);
  for (size_t i = 1; i < taken.size(); ++i) {
    const Space without = free.with(taken[i]);
    for (Candidate& candidate : sources[taken[i].source].pending) {
      if (!without.holds(candidate)) continue;
      const int64_t left = without.without(candidate).worse_side(whole);
      if (left >= least) continue;
      least = left;
      best = {&taken[i], &candidate};
    }
  }
  if (best.first == nullptr) return free;
  std::swap(static_cast<Candidate&>(*best.first), *best.second);
  free = free.with(*best.second).without(*best.first);
  std::ranges::sort(sources[best.first->source].pending, {}, &Candidate::age);
  return free;
}

MixPlan::MixPlan(std::vector<MixSource> mix, const BatchConfig& config, uint64_t seed, bool shuffle, Stream stream) {
  for (const MixSource& source : mix)
    require(source.corpus.num_pairs > 0, ErrorKind::data, "the corpus contains no pairs; pack text that contains some");
  impl_ = std::make_unique<Impl>(std::move(mix), config, seed, shuffle, stream);
}

MixPlan::MixPlan(MixPlan&&) noexcept = default;

MixPlan::~MixPlan() = default;

PlannedBlock MixPlan::next() {
  Impl& plan = *impl_;
  Space free = plan.whole;
  std::vector<Impl::Taken> taken;
  PlannedBlock block;
  for (Source& source : plan.sources) source.refill();
  std::optional<Impl::Pick> pick = plan.first_pick();
  while (pick) {
    Source& source = plan.sources[pick->source];
    const auto candidate = source.pending.begin() + static_cast<std::ptrdiff_t>(pick->candidate);
    taken.push_back({*candidate, pick->source});
    free = free.without(*candidate);
    source.pending.erase(candidate);
    source.refill();
    plan.turns.take(pick->source);
    pick = plan.next_pick(free);
  }
  if (plan.shuffle) free = plan.exchange_one(taken, free);

  for (Source& source : plan.sources) block.passed.push_back(source.passed_over());
  for (const Impl::Taken& t : taken) {
    block.pairs.push_back({plan.sources[t.source].corpus.number, t.pair, t.epoch});
    ++block.passed[t.source];
  }
  block.source_tokens = plan.whole.source - free.source;
  block.target_tokens = plan.whole.target - free.target;
  return block;
}

StreamCursor MixPlan::cursor() const {
  StreamCursor cursor{.corpora = impl_->elsewhere};
  for (const Source& source : impl_->sources) {
    const auto corpus = static_cast<size_t>(source.corpus.number);
    if (cursor.corpora.size() <= corpus) cursor.corpora.resize(corpus + 1);
    cursor.corpora[corpus] = source.cursor();
  }
  if (impl_->sources.size() == 1) return cursor;
  cursor.turns = impl_->turns.credits();
  cursor.begins = impl_->begins.credits();
  return cursor;
}

std::vector<int64_t> MixPlan::epochs() const {
  std::vector<int64_t> epochs;
  for (const Source& source : impl_->sources) epochs.push_back(source.epoch);
  return epochs;
}

void MixPlan::seek(const StreamCursor& cursor) {
  Impl& plan = *impl_;
  plan.elsewhere = cursor.corpora;
  for (Source& source : plan.sources) {
    const auto corpus = static_cast<size_t>(source.corpus.number);
    source.seek(corpus < cursor.corpora.size() ? cursor.corpora[corpus] : Cursor());
  }
  plan.turns = plan.begins = Turns(plan.weights, plan.stream.index);
  const bool starts = cursor.turns.empty() && cursor.begins.empty();
  if (!starts && (!plan.turns.restore(cursor.turns) || !plan.begins.restore(cursor.begins)))
    fail(ErrorKind::checkpoint, kNoTurns);
}

int64_t MixPlan::dropped() const {
  int64_t dropped = 0;
  for (const Source& source : impl_->sources) dropped += source.dropped;
  return dropped;
}

int64_t MixPlan::below_score() const {
  int64_t below = 0;
  for (const Source& source : impl_->sources) below += source.below_score;
  return below;
}

}  // namespace weft
