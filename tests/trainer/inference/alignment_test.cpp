// tests/trainer/inference/alignment_test.cpp: alignments of many pairs: order, blocks, grids, empty sides, choices.
#include "trainer/inference/alignment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tensor/error.h"
#include "tests/trainer/inference/translation_fixture.h"

namespace weft::testing {
namespace {

ModelConfig aligned_model() {
  ModelConfig c = small_model_config(/*vocabulary=*/40);
  c.decoder_layers = 2;
  return c;
}

std::vector<PairIds> aligned_pairs(size_t count) {  // of various lengths; every seventh has no source
  std::vector<PairIds> pairs;
  for (size_t i = 0; i < count; ++i) {
    PairIds pair;
    for (size_t k = 0; i % 7 != 3 && k < 1 + i * 5 % 11; ++k)
      pair.source.push_back(static_cast<int32_t>(3 + (i + 3 * k) % 37));
    for (size_t k = 0; i % 7 != 3 && k < i * 3 % 8; ++k)
      pair.target.push_back(static_cast<int32_t>(3 + (2 * i + k) % 37));
    pairs.push_back(pair);
  }
  return pairs;
}

// The result on every rank of the grid; a block has 24 rows on each side.
std::vector<Alignment> alignments(const std::vector<PairIds>& pairs, int dp, int tp,
                                  const Transformer::AttentionChoice& choice = {}) {
  std::vector<std::vector<Alignment>> results(static_cast<size_t>(dp * tp));
  on_grid(dp, tp, [&](const Mesh& mesh) {
    RandomModel m(aligned_model(), mesh, /*max_positions=*/24);
    Aligner aligner(m.replica, choice);
    std::vector<Alignment>& mine = results[static_cast<size_t>(mesh.world().rank())];
    aligner.align(pairs, [&](const Alignment& a) { mine.push_back(a); });
  });
  for (const auto& other : results) {
    EXPECT_EQ(other.size(), pairs.size());
    for (size_t i = 0; i < other.size(); ++i) EXPECT_EQ(other[i].weights, results[0][i].weights) << i;
  }
  return results[0];
}

TEST(Aligner, GivesEveryPairItsWeightsInOrder) {
  const std::vector<PairIds> pairs = aligned_pairs(30);
  const std::vector<Alignment> found = alignments(pairs, 1, 1);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Alignment& a = found[i];
    if (pairs[i].source.empty()) {
      EXPECT_TRUE(a.source.empty() && a.target.empty() && a.weights.empty()) << i;
      continue;
    }
    ASSERT_EQ(a.source.size(), pairs[i].source.size() + 1) << i;
    ASSERT_EQ(a.target.size(), pairs[i].target.size() + 1) << i;
    EXPECT_TRUE(std::equal(pairs[i].source.begin(), pairs[i].source.end(), a.source.begin())) << i;
    EXPECT_TRUE(std::equal(pairs[i].target.begin(), pairs[i].target.end(), a.target.begin())) << i;
    EXPECT_EQ(a.source.back(), SpecialIds::eos);
    EXPECT_EQ(a.target.back(), SpecialIds::eos);
    for (size_t t = 0; t < a.target.size(); ++t) {
      double sum = 0;
      for (size_t s = 0; s < a.source.size(); ++s) sum += a.at(t, s);
      EXPECT_NEAR(sum, 1, 1e-5) << i;
    }
  }
}

TEST(Aligner, WeightsAreAFunctionOfThePair) {
  const std::vector<PairIds> pairs = aligned_pairs(30);
  const std::vector<Alignment> together = alignments(pairs, 1, 1, {.layer = 1});
  for (const size_t i : {0, 11, 29}) {
    const Alignment alone = alignments({pairs[i]}, 1, 1, {.layer = 1}).front();
    EXPECT_EQ(alone.weights, together[i].weights) << i;
    EXPECT_NE(alone.weights, alignments({pairs[i]}, 1, 1, {.layer = 0}).front().weights) << i;
  }
}

TEST(Aligner, GivesTheSameBitsOnDataParallelRanks) {
  const std::vector<PairIds> pairs = aligned_pairs(30);
  const std::vector<Alignment> alone = alignments(pairs, 1, 1);
  for (int dp : {2, 3}) {
    const std::vector<Alignment> shared = alignments(pairs, dp, 1);
    for (size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(shared[i].weights, alone[i].weights) << i << " of dp " << dp;
  }
}

TEST(Aligner, GivesTheSameWithinRoundingOnTensorParallelRanks) {
  const std::vector<PairIds> pairs = aligned_pairs(20);
  for (const Transformer::AttentionChoice& choice :
       {Transformer::AttentionChoice{}, Transformer::AttentionChoice{1, 1}}) {
    const std::vector<Alignment> alone = alignments(pairs, 1, 1, choice), split = alignments(pairs, 2, 2, choice);
    for (size_t i = 0; i < pairs.size(); ++i)
      for (size_t k = 0; k < alone[i].weights.size(); ++k)
        EXPECT_NEAR(split[i].weights[k], alone[i].weights[k], 2e-5) << i;
  }
}

TEST(Aligner, RefusesALayerOrHeadThatIsNotThere) {
  on_grid(1, 1, [](const Mesh& mesh) {
    RandomModel m(aligned_model(), mesh);
    EXPECT_THROW(Aligner(m.replica, {.layer = 2}), Error);
    EXPECT_THROW(Aligner(m.replica, {.head = 2}), Error);
    EXPECT_THROW(Aligner(m.replica, {.head = -2}), Error);
  });
}

TEST(Aligner, LinksEachTargetPieceToItsBestSourcePieceButNotToTheEnd) {
  const Alignment a{.source = {5, 6, 2},
                    .target = {7, 8, 9, 2},
                    .weights = {0.25f, 0.5f, 0.25f, 0.25f, 0.25f, 0.5f, 0.125f, 0.125f, 0.75f, 0.5f, 0.25f, 0.25f}};
  const std::vector<AlignmentLink> links = best_links(a);
  ASSERT_EQ(links.size(), 3u);
  const size_t sources[] = {1, 0, 0};  // the first of equal weights
  for (size_t t = 0; t < 3; ++t) {
    EXPECT_EQ(links[t].target, t);
    EXPECT_EQ(links[t].source, sources[t]) << t;
    EXPECT_EQ(links[t].weight, a.at(t, sources[t])) << t;
  }
  EXPECT_TRUE(best_links({}).empty());
}

}  // namespace
}  // namespace weft::testing
