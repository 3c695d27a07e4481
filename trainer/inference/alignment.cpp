// trainer/inference/alignment.cpp: distributes blocks of pairs over the dp ranks, and collects the weights in rounds.
#include "trainer/inference/alignment.h"

#include <algorithm>

#include "tensor/error.h"
#include "trainer/inference/pair_blocks.h"

namespace weft {
namespace {

void require_choice(int64_t value, int64_t count, const char* what, const char* option) {
  if (value >= -1 && value < count) return;
  fail(ErrorKind::usage, fmt::format("{} = {}: the decoder has only {} 0 to {}; use `mean` to average over all of them",
                                     option, value, what, count - 1));
}

size_t num_weights(const PairIds& pair) { return (pair.source.size() + 1) * (pair.target.size() + 1); }

// Copies the weights of each sentence from a block's `weights`, [T, W], to `to`, one sentence after the other.
void copy_weights(Context& ctx, const Block& block, const Tensor& weights, float* to) {
  const std::vector<float> all = to_host<float>(ctx, weights);
  for (size_t i = 0; i + 1 < block.target_offsets.size(); ++i) {
    const int64_t columns = block.source_offsets[i + 1] - block.source_offsets[i];
    for (int64_t row = block.target_offsets[i]; row < block.target_offsets[i + 1]; ++row)
      to = std::copy_n(all.data() + row * weights.cols(), columns, to);
  }
}

Alignment alignment_of(const PairIds& pair, const float* weights) {
  if (pair.source.empty()) return {};
  Alignment a{.source = pair.source, .target = pair.target, .weights = {weights, weights + num_weights(pair)}};
  a.source.push_back(SpecialIds::eos);
  a.target.push_back(SpecialIds::eos);
  return a;
}

}  // namespace

Aligner::Aligner(const Replica& replica, const Transformer::AttentionChoice& choice)
    : replica_(replica), choice_(choice), rows_(pair_block_rows(replica.model())) {
  const ModelConfig& config = replica.model().config();
  require_choice(choice.layer, config.decoder_layers, "layers", "alignment-layer");
  require_choice(choice.head, config.heads, "heads", "alignment-head");
  arena_ = Arena(measure(), replica.context().device());
}

Tensor Aligner::look(Pass& p, const Block& block) const {
  int64_t longest = 0;
  for (size_t i = 0; i + 1 < block.source_offsets.size(); ++i)
    longest = std::max<int64_t>(longest, block.source_offsets[i + 1] - block.source_offsets[i]);
  const DeviceBatch batch = replica_.model().load(p, block);
  const Tensor weights = p.arena.tensor({static_cast<int64_t>(block.target_in.size()), longest});
  replica_.model().cross_attention(p, batch, choice_, weights);
  return weights;
}

size_t Aligner::measure() const {
  Context dry(replica_.context().device(), /*dry_run=*/true);
  Arena arena(dry.device());
  Pass p{.ctx = dry, .arena = arena, .tp = replica_.tp()};
  look(p, fullest_block(rows_));
  return arena.high_water();
}

void Aligner::align(const std::vector<PairIds>& pairs, const Sink& sink) {
  const PairBlocks packed = pack_in_order(pairs, rows_);
  const auto end_of = [&](size_t block) {
    return block + 1 < packed.first.size() ? packed.first[block + 1] : pairs.size();
  };
  Communicator& dp = replica_.mesh().dp();
  Context& ctx = replica_.context();
  const auto ranks = static_cast<size_t>(dp.size());
  for (size_t round = 0; round < packed.blocks.size(); round += ranks) {
    const size_t blocks_end = std::min(round + ranks, packed.blocks.size());
    const size_t mine = round + static_cast<size_t>(dp.rank());
    size_t total = 0, my_begin = 0;
    for (size_t i = packed.first[round]; i < end_of(blocks_end - 1); ++i) {
      if (mine < blocks_end && i == packed.first[mine]) my_begin = total;
      total += num_weights(pairs[i]);
    }
    std::vector<float> weights(total, 0.0f);  // this rank fills in only its own block
    if (mine < blocks_end) {
      Pass p{.ctx = ctx, .arena = arena_, .tp = replica_.tp()};
      copy_weights(ctx, packed.blocks[mine], look(p, packed.blocks[mine]), &weights[my_begin]);
    }
    dp.all_reduce(Tensor(weights.data(), {static_cast<int64_t>(total)}));
    const float* at = weights.data();
    for (size_t i = packed.first[round]; i < end_of(blocks_end - 1); at += num_weights(pairs[i]), ++i)
      sink(alignment_of(pairs[i], at));
  }
}

std::vector<AlignmentLink> best_links(const Alignment& a) {
  std::vector<AlignmentLink> links;
  for (size_t t = 0; t + 1 < a.target.size(); ++t) {
    AlignmentLink best{.target = t, .weight = a.at(t, 0)};
    for (size_t s = 1; s + 1 < a.source.size(); ++s)
      if (a.at(t, s) > best.weight) best.source = s, best.weight = a.at(t, s);
    links.push_back(best);
  }
  return links;
}

}  // namespace weft
