// tests/model/decoding/beam_test.cpp: the beam of one sentence, with hand-made probabilities.
#include "model/decoding/beam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "data/batch.h"

namespace weft {
namespace {

constexpr int32_t kEnd = SpecialIds::eos;
using Tokens = std::vector<int32_t>;

TEST(LengthPenalty, IsGnmtsOrAPowerOfTheLength) {
  const auto gnmt = [](int64_t tokens, double alpha) { return length_penalty({.length_penalty = alpha}, tokens, 0); };
  EXPECT_DOUBLE_EQ(gnmt(1, 0.6), 1.0);
  EXPECT_DOUBLE_EQ(gnmt(7, 1.0), 2.0);
  EXPECT_DOUBLE_EQ(gnmt(19, 0.5), 2.0);
  EXPECT_DOUBLE_EQ(gnmt(100, 0.0), 1.0);
  const BeamOptions power{.length_penalty_kind = LengthPenalty::power, .length_penalty = 0.5};
  EXPECT_DOUBLE_EQ(length_penalty(power, 9, 0), 3.0);
  EXPECT_DOUBLE_EQ(length_penalty(power, 7, 2), 3.0);  // counts a forced prefix
}

TEST(Beam, OfOneTakesTheBestPieceUntilItIsTheEnd) {
  Beam beam({.beam = 1}, 10);
  beam.advance({{0, 5, -1.0}, {0, kEnd, -2.0}, {0, 4, -3.0}});
  ASSERT_EQ(beam.open().size(), 1u);
  EXPECT_EQ(beam.open()[0].tokens, Tokens{5});
  EXPECT_FALSE(beam.done());
  beam.advance({{0, kEnd, -1.5}, {0, 4, -1.6}});
  EXPECT_TRUE(beam.done());
  ASSERT_EQ(beam.best().size(), 1u);
  EXPECT_EQ(beam.best()[0].tokens, Tokens{5});
  EXPECT_DOUBLE_EQ(beam.best()[0].log_prob, -1.5);
  EXPECT_DOUBLE_EQ(beam.best()[0].score, -1.5 / std::pow(7.0 / 6.0, 0.6));
}

TEST(Beam, AForcedPrefixAddsNothingToTheScore) {
  Beam beam({.beam = 2, .length_penalty = 1, .nbest = 2}, /*max_tokens=*/3, /*forced=*/2);
  for (const int32_t id : {7, 8}) {
    EXPECT_TRUE(beam.is_forced());
    beam.advance({{0, id, 0.0}});
  }
  EXPECT_FALSE(beam.is_forced());
  beam.advance({{0, kEnd, -1.0, -1.0}, {0, 5, -2.0, -2.0}});
  EXPECT_TRUE(beam.must_end());
  beam.advance({{0, kEnd, -2.1, -0.1}});
  ASSERT_EQ(beam.best().size(), 2u);
  EXPECT_EQ(beam.best()[0].tokens, (Tokens{7, 8}));
  EXPECT_DOUBLE_EQ(beam.best()[0].score, -1.0);
  EXPECT_EQ(beam.best()[1].tokens, (Tokens{7, 8, 5}));
  EXPECT_DOUBLE_EQ(beam.best()[1].score, -2.1 / (7.0 / 6.0));
  EXPECT_EQ(beam.best()[1].log_probs, (std::vector<double>{-2.0, -0.1}));
}

TEST(Beam, BreaksTiesByTheBetterParentThenTheLowerId) {
  Beam beam({.beam = 2, .length_penalty = 0}, 10);
  beam.advance({{0, 9, -1.0}, {0, 8, -1.0}, {0, 7, -1.0}});
  ASSERT_EQ(beam.open().size(), 2u);
  EXPECT_EQ(beam.open()[0].tokens, Tokens{7});
  EXPECT_EQ(beam.open()[1].tokens, Tokens{8});
  beam.advance({{1, 3, -2.0}, {0, 6, -2.0}, {0, 5, -2.0}});
  EXPECT_EQ(beam.open()[0].tokens, (Tokens{7, 5}));
  EXPECT_EQ(beam.open()[1].tokens, (Tokens{7, 6}));
}

TEST(Beam, GivesFinishedHypothesesByScoreNotByTime) {
  Beam beam({.beam = 2, .length_penalty = 1, .nbest = 2}, 10);
  beam.advance({{0, kEnd, -1.0}, {0, 5, -1.0}});
  EXPECT_EQ(beam.places(), 1);
  beam.advance({{0, kEnd, -1.1}});  // -1.1 / (7 / 6) is better than -1
  ASSERT_TRUE(beam.done());
  const std::vector<Hypothesis> best = beam.best();
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].tokens, Tokens{5});
  EXPECT_EQ(best[1].tokens, Tokens{});
}

TEST(Beam, ContinuesWhileAnOpenHypothesisCanStillWin) {
  Beam beam({.beam = 2, .length_penalty = 1}, 10);
  beam.advance({{0, kEnd, -1.0}, {0, 5, -1.5}});
  EXPECT_FALSE(beam.done());  // -1.5 / penalty(11) = -0.56
  Beam without_penalty({.beam = 2, .length_penalty = 0}, 10);
  without_penalty.advance({{0, kEnd, -1.0}, {0, 5, -1.5}});
  EXPECT_TRUE(without_penalty.done());
}

// Continuations: {parent, id, log probability of all tokens}.
TEST(Beam, OfFixedWidthReplacesFinishedHypotheses) {
  const BeamOptions options{.beam = 2, .kind = BeamKind::fixed, .length_penalty = 0, .nbest = 2};
  EXPECT_EQ(continuations_per_hypothesis(options), 3);
  Beam beam(options, 10);
  beam.advance({{0, kEnd, -1.0}, {0, 5, -1.5}, {0, 6, -1.6}});
  EXPECT_EQ(beam.places(), 2);
  ASSERT_EQ(beam.open().size(), 2u);
  EXPECT_FALSE(beam.done());
  beam.advance({{0, 7, -1.7}, {1, 7, -1.8}, {1, kEnd, -1.9}, {0, kEnd, -2.0}});
  EXPECT_FALSE(beam.done());  // the ends are not among the best two, so only one hypothesis is finished
  beam.advance({{0, kEnd, -1.8}, {1, 7, -2.5}, {0, 7, -2.6}});
  EXPECT_TRUE(beam.done());  // the best open one has -2.5
  ASSERT_EQ(beam.best().size(), 2u);
  EXPECT_EQ(beam.best()[0].tokens, Tokens{});
  EXPECT_EQ(beam.best()[1].tokens, (Tokens{5, 7}));
}

TEST(Beam, OfFixedWidthEndsWhenTheBestOpenHypothesisLooksWorseOrTheFirstAreFinished) {
  for (const BeamKind kind : {BeamKind::fixed, BeamKind::first}) {
    Beam beam({.beam = 2, .kind = kind, .length_penalty_kind = LengthPenalty::power, .length_penalty = 1}, 10);
    beam.advance({{0, kEnd, -1.0}, {0, 5, -1.1}, {0, 6, -1.2}});
    beam.advance({{0, 7, -1.8}, {0, kEnd, -1.9}, {1, 7, -2.0}});
    EXPECT_EQ(beam.done(), kind == BeamKind::first);  // -1.8 / 2 beats -1
    beam.advance({{0, 7, -3.1}, {1, 7, -3.2}});
    EXPECT_TRUE(beam.done());  // -3.1 / 3 does not
    EXPECT_DOUBLE_EQ(beam.best()[0].score, -1.9 / 2);
  }
}

TEST(Beam, CountsAForcedPrefixInAPowerOfTheLength) {
  Beam beam({.beam = 1, .length_penalty_kind = LengthPenalty::power, .length_penalty = 1}, /*max_tokens=*/3,
            /*forced=*/1);
  beam.advance({{0, 7, 0.0}});
  beam.advance({{0, kEnd, -1.0, -1.0}});
  EXPECT_DOUBLE_EQ(beam.best()[0].score, -0.5);
}

TEST(Beam, MustEndAtItsMaximumLength) {
  Beam beam({.beam = 1}, 2);
  EXPECT_FALSE(beam.must_end());
  beam.advance({{0, 5, -1}});
  EXPECT_FALSE(beam.must_end());
  beam.advance({{0, 5, -2}});
  EXPECT_TRUE(beam.must_end());
  beam.advance({{0, kEnd, -9}});
  EXPECT_TRUE(beam.done());
  EXPECT_EQ(beam.best()[0].tokens, (Tokens{5, 5}));
}

TEST(Beam, CopiesSlotsOnlyForFurtherChildrenAndOnlyToFreeSlots) {
  Beam beam({.beam = 4}, 10);
  EXPECT_EQ(beam.advance({{0, 3, -1}, {0, 4, -2}, {0, 5, -3}, {0, 6, -4}}).size(), 3u);  // slot 0 to 1, 2, 3
  // The second hypothesis (slot 1) has three children, the fourth one; the first and third none.
  const std::vector<Beam::SlotCopy> copies = beam.advance({{1, 3, -3}, {1, 4, -4}, {3, 5, -5}, {1, 6, -6}});
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].from, 1);
  EXPECT_EQ(copies[0].to, 0);
  EXPECT_EQ(copies[1].from, 1);
  EXPECT_EQ(copies[1].to, 2);
  std::set<int64_t> slots;
  for (const Beam::Open& open : beam.open()) slots.insert(open.slot);
  EXPECT_EQ(slots.size(), 4u);
  EXPECT_EQ(beam.open()[0].slot, 1);
  EXPECT_EQ(beam.open()[2].slot, 3);
}

}  // namespace
}  // namespace weft
