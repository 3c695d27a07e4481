// data/order/step_plan.h: which pairs a data-parallel rank's blocks of each step hold.
//
// A run's order is divided into streams (data/order/mix_plan.h), as many as a step has blocks: block i of every step
// comes from stream i. Rank r of dp owns a range of the blocks and plans only their streams, so its work depends on
// its own blocks alone, and every grid gives the same steps.
//
// In general blocks take the streams in turn, and a rank also plans the blocks of others that lie between its own in a
// stream. It does so in a corpus that is too small for so many streams, and where batch.blocks changes: the number of
// streams is that of the run's first step.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "data/order/mix_plan.h"

namespace weft {

struct BlockRange {
  int64_t first = 0, count = 0;
};
// A dp rank's blocks of a step; some ranks have one fewer than others. With fewer blocks than ranks some have none,
// but never rank 0.
BlockRange blocks_of_rank(int64_t blocks, int dp_rank, int dp_size);

// Streams of a new run on a corpus, or a mix, of so many pairs: a divisor of `blocks` that leaves each stream several
// pages of every epoch, or streams would be in different epochs, and several times as many pairs as it looks ahead, or
// one could be pending twice.
int64_t choose_num_streams(int64_t num_pairs, const BatchConfig& config);

// The streams that a dp rank plans in a run whose next step begins with `next_stream`.
std::vector<int64_t> streams_of_rank(int64_t blocks, int64_t num_streams, int64_t next_stream, int dp_rank,
                                     int dp_size);

struct StepCursor {                         // the place in the order where the next step starts
  int64_t num_streams = 0;                  // 0: a new run
  int64_t next_stream = 0;                  // of the next step's first block
  std::map<int64_t, StreamCursor> streams;  // those that a rank plans; in a checkpoint, all
  bool operator==(const StepCursor&) const = default;
};

struct PlannedStep {
  std::vector<int64_t> epochs;       // of each corpus of the mix, in its first block here
  std::vector<PlannedBlock> blocks;  // this rank's
  int64_t dropped = 0;               // pairs passed over in them because they do not fit a block,
  int64_t below_score = 0;           // and because their score is too low
};

class StepPlan {
 public:
  // `config` is resolved (data/batch_config.h).
  StepPlan(std::vector<MixSource> mix, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size,
           const StepCursor& start = {});

  PlannedStep next();
  StepCursor cursor() const;  // of the streams that this rank plans

 private:
  int64_t num_blocks_;
  BlockRange own_;
  int64_t num_streams_, next_stream_;
  std::map<int64_t, MixPlan> plans_;  // of the streams that have blocks of this rank
};

}  // namespace weft
