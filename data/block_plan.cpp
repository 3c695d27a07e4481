// data/block_plan.cpp: a mix of one corpus.
#include "data/block_plan.h"

#include <algorithm>
#include <utility>

#include "data/mix_plan.h"
#include "tensor/error.h"

namespace weft {

BlockPlan::BlockPlan(Corpus& corpus, const BatchConfig& config, uint64_t seed, bool shuffle)
    : BlockPlan(
          corpus.num_pairs(),
          [&corpus](int64_t /*visit*/, int64_t first, int64_t count, std::vector<PairLength>& out) {
            corpus.read_lengths(first, count, out);
          },
          config, seed, shuffle) {}

BlockPlan::BlockPlan(int64_t num_pairs, LengthSource lengths, const BatchConfig& config, uint64_t seed, bool shuffle,
                     Stream stream) {
  std::vector<MixSource> mix(1);
  mix[0].num_pairs = mix[0].num_passing = num_pairs;
  mix[0].lengths = std::move(lengths);
  plan_ = std::make_unique<MixPlan>(std::move(mix), config, seed, shuffle, stream);
}

BlockPlan::BlockPlan(BlockPlan&&) noexcept = default;

BlockPlan::~BlockPlan() = default;

PlannedBlock BlockPlan::next() { return plan_->next(); }

Cursor BlockPlan::cursor() const { return plan_->cursor().corpora.front(); }

int64_t BlockPlan::epoch() const { return plan_->epochs().front(); }

void BlockPlan::seek(const Cursor& cursor) { plan_->seek({.corpora = {cursor}}); }

int64_t BlockPlan::dropped() const { return plan_->dropped(); }

int64_t BlockPlan::source_rows_for(const Corpus& corpus, int64_t target_rows) {
  const Manifest& m = corpus.manifest();
  const int64_t source = m.source_rows(), target = m.target_rows();
  require(target > 0, ErrorKind::data, kNoPairs);
  return std::max<int64_t>(1, (source * target_rows + 8 * target) / (16 * target)) * 16;
}

}  // namespace weft
