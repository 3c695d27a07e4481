// data/order/step_plan.h: which pairs a data-parallel rank's blocks of each step contain.
//
// A run's order is divided into streams (data/order/mix_plan.h), one per block of a step: block i of every step
// comes from stream i. Rank r of dp owns a range of the blocks and plans only their streams. So its work depends only
// on its own blocks, and every grid yields the same steps.
//
// If the numbers of streams and blocks differ, blocks take the streams in turn, and a rank also plans other ranks'
// blocks that lie between its own in a stream. They differ if a corpus is too small for so many streams, or after
// batch.blocks changes, because the run's first step fixes the number of streams.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "data/order/mix_plan.h"

namespace weft {

struct BlockRange {
  int64_t first = 0, count = 0;
};
// Returns a dp rank's blocks of a step; some ranks have one fewer than others. If there are fewer blocks than ranks,
// some ranks have none, but rank 0 always has one.
BlockRange blocks_of_rank(int64_t blocks, int dp_rank, int dp_size);

// Returns the number of streams of a new run on a corpus, or a mix, of `num_pairs` pairs. It divides `blocks` and
// leaves each stream several pages of every epoch (otherwise streams would be in different epochs) and several times as
// many pairs as its look-ahead (otherwise a pair could be pending twice).
int64_t choose_num_streams(int64_t num_pairs, const BatchConfig& config);

// Returns the streams that a dp rank plans in a run whose next step starts with `next_stream`.
std::vector<int64_t> streams_of_rank(int64_t blocks, int64_t num_streams, int64_t next_stream, int dp_rank,
                                     int dp_size);

struct StepCursor {                         // the place in the order where the next step starts
  int64_t num_streams = 0;                  // 0 in a new run
  int64_t next_stream = 0;                  // the stream of the next step's first block
  std::map<int64_t, StreamCursor> streams;  // the streams planned by a rank; in a checkpoint, all streams
  bool operator==(const StepCursor&) const = default;
};

struct PlannedStep {
  std::vector<int64_t> epochs;       // epoch of each corpus of the mix, in this rank's first block
  std::vector<PlannedBlock> blocks;  // blocks of this rank
  int64_t dropped = 0;               // pairs passed over because they do not fit a block
  int64_t below_score = 0;           // pairs passed over because their score is too low
};

class StepPlan {
 public:
  // REQUIRES: `config` is resolved (data/batch_config.h).
  StepPlan(std::vector<MixSource> mix, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size,
           const StepCursor& start = {});

  PlannedStep next();
  StepCursor cursor() const;  // the cursor of the streams that this rank plans

 private:
  int64_t num_blocks_;
  BlockRange own_;
  int64_t num_streams_, next_stream_;
  std::map<int64_t, MixPlan> plans_;  // by stream, if it yields blocks of this rank
};

}  // namespace weft
