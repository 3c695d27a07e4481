// tests/model/random_models_test.cpp: for random configurations, grids and sentences, a grid computes the
// same as one rank, and the packing of sentences into blocks does not matter.
//
// A case is a pure function of its seed, which failures print; WEFT_TEST_SEED=SEED runs only the case of that
// seed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/definition/kinks.h"
#include "tests/support/draw.h"
#include "tests/support/grid_comparison.h"

namespace weft::testing {
namespace {

constexpr uint64_t kNumCases = 30, kFewCases = 3;

std::vector<uint64_t> seeds() {
  if (const char* one = std::getenv("WEFT_TEST_SEED")) return {std::strtoull(one, nullptr, 10)};
  std::vector<uint64_t> all;
  for (uint64_t seed = 1; seed <= all_or_few(kNumCases, kFewCases); ++seed) all.push_back(seed);
  return all;
}

using Pair = std::pair<std::vector<int32_t>, std::vector<int32_t>>;  // tokens of source and target

constexpr int64_t kLongest = 12;  // tokens

struct RandomCase {
  explicit RandomCase(uint64_t seed);
  Block block(const std::vector<Pair>& pairs, int64_t index) const {
    BlockBuilder builder(source_rows, target_rows);
    for (const auto& [source, target] : pairs) builder.add(source, target);
    return builder.finish(index);
  }
  std::vector<Block> blocks() const {
    std::vector<Block> all;
    for (const auto& pairs : sentences) all.push_back(block(pairs, static_cast<int64_t>(all.size())));
    return all;
  }
  Block first_block() const { return block(sentences.front(), 0); }
  ModelConfig without_dropout() const {  // dropout masks depend on the position in a block
    ModelConfig c = config;
    c.dropout = 0;
    c.dropout_embedding = c.dropout_residual = c.dropout_attention = c.dropout_feed_forward = -1;
    c.lora.dropout = 0;
    return c;
  }

  ModelConfig config;
  Grid grid;
  double smoothing;
  std::vector<std::vector<Pair>> sentences;  // of each block
  int64_t source_rows = 0, target_rows = 0;

 private:
  void draw_model(Draw& draw);
  void draw_sentences(Draw& draw);
};

RandomCase::RandomCase(uint64_t seed) {
  Draw draw(seed, "random models");
  grid.tp = static_cast<int>(draw.from(1, 8));
  grid.dp = static_cast<int>(draw.from(1, 8 / grid.tp));
  grid.sequence = draw.coin();
  smoothing = draw.one_of({0.0, 0.1, 0.3});
  draw_model(draw);
  do {
    draw_sentences(draw);
  } while (nearest_kink(config, blocks()) < kNearKink || nearest_kink(without_dropout(), {first_block()}) < kNearKink);
}

void RandomCase::draw_model(Draw& draw) {
  ModelConfig& c = config;
  c.kv_heads = grid.tp * draw.from(1, 2);
  c.heads = c.kv_heads * draw.one_of<int64_t>({1, 1, 2});
  c.width = c.heads * draw.from(c.heads < 4 ? 8 / c.heads : 2, std::max<int64_t>(48 / c.heads, 3));
  c.feed_forward = grid.tp * draw.from(2, 8);
  c.encoder_layers = draw.from(1, 3), c.decoder_layers = draw.from(1, 3);
  c.norm = draw.one_of({NormPosition::post, NormPosition::pre});
  c.final_norm = draw.coin(), c.embedding_norm = draw.coin();
  c.norm_eps = draw.one_of({0.0, 1e-6, 1e-2});
  c.activation = draw.one_of_enum<FeedForwardActivation>();
  c.norm_kind = draw.one_of_enum<NormKind>();
  c.bias_attention = draw.coin(), c.bias_feed_forward = draw.coin(), c.bias_output = draw.coin();
  c.tying = draw.one_of({Tying::none, Tying::output, Tying::all});
  c.target_vocabulary = draw.from(std::max(5, grid.tp), 40);
  c.source_vocabulary = c.tying == Tying::all ? c.target_vocabulary : draw.from(5, 40);
  c.scale_embeddings = draw.coin();
  c.start_token = draw.one_of_enum<StartToken>();
  c.positions = draw.one_of_enum<Positions>();
  if (is_rotary(c.positions) && c.head_size() % 2 != 0) c.positions = Positions::interleaved;
  if (c.positions == Positions::learned)
    c.max_positions = kLongest + draw.from(1, 6);
  else if (!is_rotary(c.positions))
    c.position_offset = draw.from(0, 3);
  c.embedding_init = draw.one_of({EmbeddingInit::normal, EmbeddingInit::xavier});
  for (double* rate : {&c.dropout_embedding, &c.dropout_residual, &c.dropout_attention, &c.dropout_feed_forward})
    *rate = draw.one_of({0.0, 0.1, 0.4});
  if (draw.coin()) return;
  c.lora = {.rank = draw.from(1, 5), .alpha = draw.one_of({0.0, 3.0}), .dropout = draw.one_of({0.0, 0.2})};
  c.lora.targets = draw.one_of<std::string>({"q,v", "k,out", "up", "q,k,v,out,up,down"});
}

void RandomCase::draw_sentences(Draw& draw) {
  const int64_t longest = draw.from(1, kLongest);
  const auto tokens = [&](int64_t vocabulary) {
    std::vector<int32_t> ids(static_cast<size_t>(draw.from(1, longest)));
    for (int32_t& id : ids) id = static_cast<int32_t>(draw.from(3, vocabulary - 1));
    return ids;
  };
  sentences.assign(static_cast<size_t>(grid.dp * draw.from(1, 2)), {});
  source_rows = target_rows = 0;
  for (auto& pairs : sentences) {
    int64_t source = 0, target = 0;
    for (int64_t count = draw.from(1, 9); count > 0; --count) {
      pairs.emplace_back(tokens(config.source_vocabulary), tokens(config.target_vocabulary));
      source += static_cast<int64_t>(pairs.back().first.size()) + 1;
      target += static_cast<int64_t>(pairs.back().second.size()) + 1;
    }
    source_rows = std::max(source_rows, source), target_rows = std::max(target_rows, target);
  }
  source_rows += draw.from(0, 5), target_rows += draw.from(0, 5);
  if (!grid.sequence) return;
  for (int64_t* rows : {&source_rows, &target_rows}) *rows = (*rows + grid.tp - 1) / grid.tp * grid.tp;
}

void report(uint64_t seed, const RandomCase& c, const std::vector<std::string>& differences) {
  for (const std::string& difference : differences)
    ADD_FAILURE() << difference << "; " << c.grid.name() << ", width " << c.config.width << ", " << c.config.heads
                  << " heads; WEFT_TEST_SEED=" << seed << " runs this case alone";
}

TEST(RandomModels, AreTheSameOnARandomGridAsOnOneRank) {
  for (uint64_t seed : seeds()) {
    const RandomCase c(seed);
    const GridResult one = run_on_grid(c.config, c.blocks(), 1, 1, c.smoothing);
    const StepOptions options{.sequence = c.grid.sequence};
    report(seed, c, differences(run_on_grid(c.config, c.blocks(), c.grid.dp, c.grid.tp, c.smoothing, options), one));
  }
}

GridResult without_dropout(const RandomCase& c, const std::vector<Block>& blocks) {
  return run_on_grid(c.without_dropout(), blocks, 1, 1, c.smoothing);
}

TEST(RandomModels, DoNotDependOnTheOrderOfSentencesInABlock) {
  for (uint64_t seed : seeds()) {
    const RandomCase c(seed);
    Draw draw(~seed, "random models");
    std::vector<Pair> shuffled = c.sentences.front();
    for (size_t i = shuffled.size(); i > 1; --i)
      std::swap(shuffled[i - 1], shuffled[static_cast<size_t>(draw.from(0, static_cast<int64_t>(i) - 1))]);
    const GridResult straight = without_dropout(c, {c.first_block()});
    report(seed, c, differences(without_dropout(c, {c.block(shuffled, 0)}), straight));
  }
}

TEST(RandomModels, DoNotDependOnHowSentencesAreCutIntoBlocks) {
  for (uint64_t seed : seeds()) {
    const RandomCase c(seed);
    const std::vector<Pair>& all = c.sentences.front();
    const auto middle = all.begin() + static_cast<int64_t>(all.size() / 2);
    const GridResult whole = without_dropout(c, {c.first_block()});
    const GridResult halves = without_dropout(c, {c.block({all.begin(), middle}, 0), c.block({middle, all.end()}, 1)});
    report(seed, c, differences(halves, whole));
  }
}

}  // namespace
}  // namespace weft::testing
