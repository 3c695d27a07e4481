// data/order/step_plan.h: plans which pairs the blocks of a data-parallel rank contain in each step.
//
// A run's order is divided into streams (data/order/mix_plan.h), one per block of a step: block i of every step comes
// from stream i. Each rank owns a range of the blocks and plans only their streams. So a rank's work depends only on
// its own blocks, and every grid yields the same steps.
//
// The numbers of streams and blocks differ if a corpus is too small for that many streams, or after batch.blocks
// changes, because the run's first step fixes the number of streams. Blocks then take the streams in turn, and a rank
// also plans the blocks of other ranks that lie between its own blocks in a stream.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "data/order/mix_plan.h"

namespace weft {

struct BlockRange {
  int64_t first = 0, count = 0;
};
// Returns the blocks of a step that a dp rank owns. Some ranks own one block fewer than others. If there are fewer
// blocks than ranks, some ranks own none, but rank 0 always owns one.
BlockRange blocks_of_rank(int64_t blocks, int dp_rank, int dp_size);

// Returns the number of streams for a new run on `num_pairs` pairs, a divisor of config.blocks. Each stream gets
// several pages of every epoch, because streams would otherwise be in different epochs. It also gets several times as
// many pairs as its look-ahead, because a pair could otherwise be pending twice.
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
  std::vector<int64_t> epochs;       // epoch of each corpus of the mix at this rank's first block
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
  std::map<int64_t, MixPlan> plans_;  // by stream; only streams with blocks of this rank
};

}  // namespace weft
