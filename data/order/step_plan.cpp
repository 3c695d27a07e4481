// data/order/step_plan.cpp: assigns the blocks of streams to steps and ranks.
#include "data/order/step_plan.h"

#include <numeric>
#include <utility>

#include "tensor/error.h"

namespace weft {

BlockRange blocks_of_rank(int64_t blocks, int dp_rank, int dp_size) {
  const auto first_of = [&](int64_t rank) { return (blocks * rank + dp_size - 1) / dp_size; };
  return {first_of(dp_rank), first_of(dp_rank + 1) - first_of(dp_rank)};
}

int64_t choose_num_streams(int64_t num_pairs, const BatchConfig& config) {
  constexpr int64_t kMinPages = 4, kMinLookAheads = 4;  // per epoch
  const int64_t least = std::max({int64_t{1}, kMinPages * std::min(config.page, num_pairs),
                                  kMinLookAheads * std::min(config.look_ahead, num_pairs)});
  int64_t streams = std::max<int64_t>(1, std::min(config.blocks, num_pairs / least));
  while (config.blocks % streams != 0) --streams;
  return streams;
}

// With each step, block i moves on by `blocks` streams, so its stream stays the same modulo gcd(blocks, num_streams).
std::vector<int64_t> streams_of_rank(int64_t blocks, int64_t num_streams, int64_t next_stream, int dp_rank,
                                     int dp_size) {
  const BlockRange own = blocks_of_rank(blocks, dp_rank, dp_size);
  const int64_t divisor = std::gcd(blocks, num_streams);
  std::vector<int64_t> streams;
  if (next_stream < 0) return streams;  // StepPlan refuses such a cursor
  for (int64_t i = own.first; i < own.first + std::min(own.count, divisor); ++i)
    for (int64_t stream = (next_stream + i) % divisor; stream < num_streams; stream += divisor)
      streams.push_back(stream);
  return streams;
}

namespace {

int64_t pairs_of(const std::vector<MixSource>& mix) {
  int64_t pairs = 0;
  for (const MixSource& source : mix) pairs += source.corpus.num_usable;
  return pairs;
}

}  // namespace

StepPlan::StepPlan(std::vector<MixSource> mix, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size,
                   const StepCursor& start)
    : num_blocks_(config.blocks),
      own_(blocks_of_rank(config.blocks, dp_rank, dp_size)),
      num_streams_(start.num_streams == 0 ? choose_num_streams(pairs_of(mix), config) : start.num_streams),
      next_stream_(start.next_stream) {
  if (start.num_streams > 0 && (next_stream_ < 0 || next_stream_ >= num_streams_))
    fail(ErrorKind::checkpoint,
         fmt::format("the data cursor's next stream is {}, but there are only {} streams", next_stream_, num_streams_));
  for (const int64_t stream : streams_of_rank(num_blocks_, num_streams_, next_stream_, dp_rank, dp_size)) {
    MixPlan plan(mix, config, seed, /*shuffle=*/true, {.index = stream, .count = num_streams_});
    if (start.num_streams > 0) {
      const auto found = start.streams.find(stream);
      require(found != start.streams.end(), ErrorKind::checkpoint, "the data cursor lacks a stream of this rank");
      plan.seek(found->second);
    }
    plans_.emplace(stream, std::move(plan));
  }
}

PlannedStep StepPlan::next() {
  PlannedStep step;
  std::map<int64_t, PlannedBlock> own;  // by index in the step
  for (auto& [stream, plan] : plans_) {
    for (int64_t i = (stream - next_stream_ + num_streams_) % num_streams_; i < num_blocks_; i += num_streams_) {
      const int64_t dropped = plan.dropped(), below = plan.below_score();
      std::vector<int64_t> epochs = plan.epochs();
      PlannedBlock block = plan.next();
      if (i < own_.first || i >= own_.first + own_.count) continue;  // the block belongs to another rank
      if (i == own_.first) step.epochs = std::move(epochs);
      step.dropped += plan.dropped() - dropped;
      step.below_score += plan.below_score() - below;
      own.emplace(i, std::move(block));
    }
  }
  for (auto& [i, block] : own) step.blocks.push_back(std::move(block));
  next_stream_ = (next_stream_ + num_blocks_) % num_streams_;
  return step;
}

StepCursor StepPlan::cursor() const {
  StepCursor cursor{.num_streams = num_streams_, .next_stream = next_stream_, .streams = {}};
  for (const auto& [stream, plan] : plans_) cursor.streams.emplace(stream, plan.cursor());
  return cursor;
}

}  // namespace weft
