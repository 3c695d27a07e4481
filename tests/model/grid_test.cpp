// tests/model/grid_test.cpp: loss and gathered gradients are the same on every dp x tp grid of up to 8 ranks, for every
// weight tying and norm position, with and without sequence parallelism, with all dropouts, label smoothing, and
// vocabularies that no tp divides.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/definition/kinks.h"
#include "tests/support/grid_comparison.h"

namespace weft::testing {
namespace {

// A model of `parts` heads and a step of `parts` blocks, for every grid whose dp and tp divide `parts`.
constexpr int kParts[] = {5, 6, 7, 8};

std::vector<Grid> grids_of(int parts, int most_ranks = 8) {
  std::vector<Grid> grids;
  for (int dp = 1; dp <= parts; ++dp)
    for (int tp = 1; dp * tp <= most_ranks && tp <= parts; ++tp)
      if (parts % dp == 0 && parts % tp == 0) grids.push_back({dp, tp});
  return grids;
}

struct EveryGridCase {
  NormPosition norm;
  Tying tying;
  int parts;
};

std::string name_of(const EveryGridCase& c) {
  const char* const tyings[] = {"none", "output", "all"};
  return fmt::format("{}_{}_{}_parts", c.norm == NormPosition::pre ? "pre" : "post",
                     tyings[static_cast<size_t>(c.tying)], c.parts);
}

std::vector<EveryGridCase> every_case() {
  std::vector<EveryGridCase> cases;
  for (NormPosition norm : {NormPosition::post, NormPosition::pre})
    for (Tying tying : {Tying::none, Tying::output, Tying::all})
      for (int parts : kParts) cases.push_back({norm, tying, parts});
  return cases;
}

ModelConfig configure(const EveryGridCase& c) {
  ModelConfig m;
  m.width = 2 * c.parts, m.heads = c.parts, m.feed_forward = 3 * c.parts, m.encoder_layers = m.decoder_layers = 2;
  m.norm = c.norm, m.final_norm = c.norm == NormPosition::pre, m.tying = c.tying;
  m.bias_output = c.tying == Tying::none;
  m.source_vocabulary = c.tying == Tying::all ? 17 : 19;  // primes: padded for every tp
  m.target_vocabulary = 17;
  m.dropout_attention = 0.2, m.dropout_feed_forward = 0.3, m.dropout_embedding = 0.15, m.dropout_residual = 0.1;
  return m;
}

class EveryGrid : public ::testing::TestWithParam<EveryGridCase> {};

TEST_P(EveryGrid, GivesTheLossAndGradientsOfOneRank) {
  const ModelConfig config = configure(GetParam());
  const int parts = GetParam().parts, most_ranks = all_or_few(8, 4);
  const int count = parts % most_ranks == 0 ? most_ranks : parts;
  const std::vector<Block> blocks = random_blocks_off_kinks(config, count, 3 * parts, 4 * parts, 7);
  const GridResult one = run_on_grid(config, blocks, 1, 1, 0.1);
  EXPECT_EQ(blind_spots(one, one), std::vector<std::string>{}) << "errors of ten tolerances that nobody would see";
  for (Grid grid : grids_of(parts, most_ranks))
    for (const bool sequence : {false, true}) {
      if (sequence && grid.tp == 1) continue;
      grid.sequence = sequence;
      const GridResult all = run_on_grid(config, blocks, grid.dp, grid.tp, 0.1, {.sequence = sequence});
      for (const std::string& difference : differences(all, one))
        ADD_FAILURE() << grid.name() << ", " << name_of(GetParam()) << ", " << difference;
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, EveryGrid, ::testing::ValuesIn(every_case()),
                         [](const auto& info) { return name_of(info.param); });

TEST(WeightedPairs, HaveTheSameLossAndGradientsOnEveryGrid) {
  for (const EveryGridCase& c :
       {EveryGridCase{NormPosition::pre, Tying::all, 6}, {NormPosition::post, Tying::none, 6}}) {
    const ModelConfig config = configure(c);
    std::vector<Block> blocks = random_blocks_off_kinks(config, 6, 18, 24, 7);
    const GridResult unweighted = run_on_grid(config, blocks, 1, 1, 0.1);
    add_weights(blocks);
    const GridResult one = run_on_grid(config, blocks, 1, 1, 0.1);
    EXPECT_EQ(differences(one, unweighted).size(), one.gradients.size() + 2) << "weights change nothing";
    for (Grid grid : grids_of(6, all_or_few(8, 4))) {
      grid.sequence = grid.tp > 1;
      const GridResult all = run_on_grid(config, blocks, grid.dp, grid.tp, 0.1, {.sequence = grid.sequence});
      for (const std::string& difference : differences(all, one))
        ADD_FAILURE() << grid.name() << ", " << name_of(c) << ", " << difference;
    }
  }
}

TEST(EveryGridCases, AreAllGridsOfUpToEightRanks) {
  std::set<std::pair<int, int>> covered, all;
  for (int parts : kParts)
    for (const Grid& grid : grids_of(parts)) covered.insert({grid.dp, grid.tp});
  for (int dp = 1; dp <= 8; ++dp)
    for (int tp = 1; dp * tp <= 8; ++tp) all.insert({dp, tp});
  EXPECT_EQ(covered, all);
}

TEST(GridComparison, SeesABlockThatWasLost) {
  const ModelConfig config = configure({NormPosition::pre, Tying::all, 6});
  std::vector<Block> blocks = random_blocks(config, 6, 20, 22, 7, 1);
  const GridResult whole = run_on_grid(config, blocks, 1, 1, 0.1);
  blocks.pop_back();
  EXPECT_EQ(differences(run_on_grid(config, blocks, 1, 1, 0.1), whole).size(), whole.gradients.size() + 2);
}

}  // namespace
}  // namespace weft::testing
