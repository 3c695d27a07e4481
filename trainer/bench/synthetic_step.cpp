// trainer/bench/synthetic_step.cpp: draws random lengths and tokens, and packs them with the planner of real runs.
#include "trainer/bench/synthetic_step.h"

#include <algorithm>
#include <cmath>

#include "data/order/step_plan.h"
#include "tensor/math.h"
#include "tensor/random.h"

namespace weft {
namespace {

constexpr double kMean = 27, kSpread = 0.6, kRatioSpread = 0.15;  // spread: standard deviation of the logarithm
constexpr int64_t kLongest = 128;
constexpr int32_t kFirstPiece = 3;  // after unk, bos and eos

int32_t bounded(double length, int64_t longest) {
  return static_cast<int32_t>(std::clamp<int64_t>(std::llround(length), 1, longest));
}

// By Zipf's law, the logarithm of a token's frequency rank is distributed nearly uniformly.
std::vector<int32_t> token_ids(const RunConfig& c, const char* side, int64_t pair, int32_t length, int64_t vocabulary) {
  const double choices = static_cast<double>(std::max<int64_t>(1, vocabulary - kFirstPiece));
  std::vector<int32_t> ids(static_cast<size_t>(length));
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto index = static_cast<uint64_t>(pair * kLongest) + i;
    const double u = uniform_from_bits(random_bits(c.train.seed, index, 0, purpose_of(side)));
    const double rank = std::min(std::pow(choices + 1, u), choices);  // 1 or more
    ids[i] = static_cast<int32_t>(std::min<int64_t>(vocabulary - 1, kFirstPiece - 1 + static_cast<int64_t>(rank)));
  }
  return ids;
}

// Leaves one row for eos. A table of learned positions also limits the length.
int64_t longest_that_fits(const RunConfig& c) {
  int64_t rows = std::min(c.batch.rows, c.batch.source_rows);
  if (c.model.positions == Positions::learned) rows = std::min(rows, c.model.max_positions);
  return std::min(kLongest, rows - 1);
}

Block make_block(const RunConfig& c, const PlannedBlock& planned, int64_t index, int64_t longest) {
  BlockBuilder builder(c.batch.source_rows, c.batch.rows);
  for (const auto& [corpus, pair, epoch] : planned.pairs) {
    const PairLength length = synthetic_length(c.train.seed, pair, longest);
    builder.add(token_ids(c, "bench.source", pair, length.source, c.model.source_vocabulary),
                token_ids(c, "bench.target", pair, length.target, c.model.target_vocabulary));
  }
  return builder.finish(index);
}

}  // namespace

PairLength synthetic_length(uint64_t seed, int64_t pair, int64_t longest) {
  const PhiloxBits bits = philox(seed, static_cast<uint64_t>(pair), 0, purpose_of("bench.length"));
  const auto normal = [&](int lane) {
    return static_cast<double>(
        normal_from_uniforms(uniform_from_bits(bits.v[lane]), uniform_from_bits(bits.v[lane + 1])));
  };
  const double source = std::exp(std::log(kMean) - kSpread * kSpread / 2 + kSpread * normal(0));
  return {bounded(source, longest), bounded(source * std::exp(kRatioSpread * normal(2)), longest)};
}

Step synthetic_step(const RunConfig& c, int dp_rank, int dp_size) {
  const int64_t longest = longest_that_fits(c);
  const LengthSource lengths = [&](int64_t /*epoch*/, int64_t first, int64_t count, std::vector<PairLength>& out) {
    out.clear();
    for (int64_t i = first; i < first + count; ++i) out.push_back(synthetic_length(c.train.seed, i, longest));
  };
  const int64_t num_pairs = c.batch.blocks * c.batch.rows + c.batch.look_ahead;  // at least as many as the step uses
  const MixCorpus all{.folder = "the synthetic pairs", .num_pairs = num_pairs, .num_usable = num_pairs};
  StepPlan plan({{all, lengths}}, c.batch, c.train.seed, dp_rank, dp_size);
  int64_t index = blocks_of_rank(c.batch.blocks, dp_rank, dp_size).first;
  Step step;
  for (const PlannedBlock& planned : plan.next().blocks)
    step.blocks.push_back(make_block(c, planned, index++, longest));
  if (step.blocks.empty()) step.blocks.push_back(make_block(c, {}, index, longest));
  return step;
}

Step first_block_of(const Step& step) {
  Step one = step;
  one.blocks.resize(1);
  return one;
}

}  // namespace weft
