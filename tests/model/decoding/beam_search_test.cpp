// tests/model/decoding/beam_search_test.cpp: the search compared with a decoder without cache, with
// exhaustive search, and with itself in other batches.
#include "model/decoding/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/model/decoding/search_fixture.h"
#include "tests/support/errors.h"

namespace weft {
namespace {

using testing::all_or_few;
using testing::expect_same_bits;
using testing::random_requests;
using testing::Results;
using testing::SearchingModel;
using testing::Tokens;

class BeamSearchTest : public testing::SearchTest {};

// Greedy decoding that recomputes everything for every token. It scores each possible next token as a target
// that continues with it, and eos as the target so far.
Hypothesis greedy_without_cache(SearchingModel& m, const BeamRequest& request, int32_t vocabulary) {
  for (Hypothesis h;;) {
    const size_t length = h.tokens.size();
    std::vector<Tokens> targets{h.tokens};
    for (int32_t id = 0; id < vocabulary; ++id) {
      targets.push_back(h.tokens);
      targets.back().push_back(id);
    }
    const std::vector<std::vector<double>> rows = m.rows(request.source, targets);
    int32_t best = SpecialIds::eos;
    double best_log_prob = rows[0][length];
    if (static_cast<int64_t>(length) < request.max_tokens) {
      for (int32_t id = 0; id < vocabulary; ++id) {
        const double log_prob = rows[static_cast<size_t>(id) + 1][length];
        if (id != SpecialIds::bos && log_prob > best_log_prob) best_log_prob = log_prob, best = id;
      }
    }
    h.log_prob += best_log_prob;
    if (best == SpecialIds::eos) return h;
    h.tokens.push_back(best);
  }
}

TEST_F(BeamSearchTest, OfOneIsArgmaxDecodingWithoutCache) {
  const SearchingModel::Change variants[] = {
      [](ModelConfig&) {},
      [](ModelConfig& c) { c.norm = NormPosition::pre, c.final_norm = true; },
      [](ModelConfig& c) { c.norm_kind = NormKind::rms, c.activation = FeedForwardActivation::swiglu; },
      [](ModelConfig& c) { c.positions = Positions::rotary, c.kv_heads = 1; },
      [](ModelConfig& c) { c.positions = Positions::rotary_halves; },
      [](ModelConfig& c) { c.embedding_norm = true, c.norm_eps = 1e-2, c.start_token = StartToken::eos; },
      [](ModelConfig& c) { c.start_token = StartToken::zero; },
  };
  for (const SearchingModel::Change change : variants) {
    SearchingModel m(*alone_, 13, 300, change);
    const std::vector<BeamRequest> requests = random_requests(all_or_few(6, 2), 13, 6);
    const Results found = m.search(requests, {.beam = 1});
    for (size_t i = 0; i < requests.size(); ++i) {
      const Hypothesis expected = greedy_without_cache(m, requests[i], 13);
      ASSERT_EQ(found[i].size(), 1u);
      EXPECT_EQ(found[i][0].tokens, expected.tokens);
      EXPECT_NEAR(found[i][0].log_prob, expected.log_prob, 1e-4);
    }
  }
}

TEST_F(BeamSearchTest, AsWideAsEverythingIsExhaustiveSearch) {
  SearchingModel m(*alone_, 6);
  const Tokens source{3, 5, 4, 4};
  std::vector<Tokens> all{{}};
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == 3) continue;
    for (const int32_t id : {0, 3, 4, 5}) {
      all.push_back(all[i]);
      all.back().push_back(id);
    }
  }
  ASSERT_EQ(all.size(), 85u);
  std::vector<Hypothesis> expected;
  const std::vector<double> log_probs = m.log_probs(source, all);
  for (size_t i = 0; i < all.size(); ++i) {
    const double score = log_probs[i] / std::pow((5.0 + static_cast<double>(all[i].size()) + 1) / 6.0, 0.8);
    expected.push_back({all[i], log_probs[i], score});
  }
  std::sort(expected.begin(), expected.end(),
            [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });

  const Results found =
      m.search({{.source = source, .max_tokens = 3}}, {.beam = 85, .length_penalty = 0.8, .nbest = 85});
  ASSERT_EQ(found[0].size(), 85u);
  for (size_t i = 0; i < 85; ++i) {
    EXPECT_EQ(found[0][i].tokens, expected[i].tokens) << i;
    EXPECT_NEAR(found[0][i].score, expected[i].score, 1e-4) << i;
  }
}

TEST_F(BeamSearchTest, ScoresAreThoseOfTheWholeDecoder) {
  SearchingModel m(*alone_);
  const std::vector<BeamRequest> requests = random_requests(10, 23);
  const Results found = m.search(requests, {.beam = 4, .length_penalty = 1.0, .nbest = 4});
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(found[i].size(), 4u);
    std::vector<Tokens> targets;
    for (const Hypothesis& h : found[i]) targets.push_back(h.tokens);
    const std::vector<double> log_probs = m.log_probs(requests[i].source, targets);
    for (size_t k = 0; k < 4; ++k) {
      const Hypothesis& h = found[i][k];
      EXPECT_NEAR(h.log_prob, log_probs[k], 1e-3);
      EXPECT_DOUBLE_EQ(h.score, h.log_prob / length_penalty({.length_penalty = 1}, std::ssize(h.tokens) + 1, 0));
      EXPECT_LE(static_cast<int64_t>(h.tokens.size()), requests[i].max_tokens);
      EXPECT_EQ(std::count(h.tokens.begin(), h.tokens.end(), SpecialIds::bos), 0);
      EXPECT_EQ(std::count(h.tokens.begin(), h.tokens.end(), SpecialIds::eos), 0);
      if (k > 0) {
        EXPECT_GE(found[i][k - 1].score, h.score);
        EXPECT_NE(found[i][k - 1].tokens, h.tokens);
      }
    }
  }
}

TEST_F(BeamSearchTest, GoesOnFromAForcedPrefix) {
  SearchingModel m(*alone_);
  std::vector<BeamRequest> requests = random_requests(6, 23);
  for (size_t i = 0; i < requests.size(); ++i) requests[i].prefix.assign(i, static_cast<int32_t>(3 + i));
  requests[5].max_tokens = 5;  // no token after the prefix
  const Results found = m.search(requests, {.beam = 3, .length_penalty = 1.0, .nbest = 3});
  for (size_t i = 0; i < requests.size(); ++i) {
    const Tokens& prefix = requests[i].prefix;
    ASSERT_EQ(found[i].size(), i == 5 ? 1u : 3u);
    for (const Hypothesis& h : found[i]) {
      ASSERT_GE(h.tokens.size(), prefix.size());
      EXPECT_EQ(Tokens(h.tokens.begin(), h.tokens.begin() + std::ssize(prefix)), prefix);
      const std::vector<double> rows = m.rows(requests[i].source, {h.tokens})[0];
      EXPECT_NEAR(h.log_prob, std::accumulate(rows.begin() + std::ssize(prefix), rows.end(), 0.0), 1e-3);
      EXPECT_DOUBLE_EQ(h.score, h.log_prob / length_penalty({.length_penalty = 1},
                                                            std::ssize(h.tokens) - std::ssize(prefix) + 1, 0));
    }
  }
}

TEST_F(BeamSearchTest, APrefixDoesNotDependOnTheBatch) {
  SearchingModel m(*alone_);
  std::vector<BeamRequest> requests = random_requests(all_or_few(30, 5), 23, 8);
  for (size_t i = 0; i < requests.size(); ++i) requests[i].prefix.assign(i % 4, 9);
  BeamSearch search({m.parts()}, {.beam = {.beam = 3, .nbest = 3}}, {}, 1);
  Results one_by_one;
  for (const BeamRequest& request : requests) one_by_one.push_back(search.search({request})[0]);
  expect_same_bits(m.search(requests, {.beam = 3, .nbest = 3}), one_by_one);
}

TEST_F(BeamSearchTest, ItsOwnBeginningForcedLeadsToTheSameEnd) {
  SearchingModel m(*alone_);
  std::vector<BeamRequest> requests = random_requests(all_or_few(20, 4), 23);
  const Results free = m.search(requests, {.beam = 1});
  for (size_t i = 0; i < requests.size(); ++i) {
    const Tokens& tokens = free[i][0].tokens;
    requests[i].prefix.assign(tokens.begin(), tokens.begin() + std::ssize(tokens) / 2);
  }
  const Results forced = m.search(requests, {.beam = 1});
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(forced[i][0].tokens, free[i][0].tokens);
}

TEST_F(BeamSearchTest, AWiderBeamFindsAtLeastAsGoodOnAverage) {
  SearchingModel m(*alone_);
  const std::vector<BeamRequest> requests = random_requests(all_or_few(40, 12), 23);
  const auto total = [&](int64_t beam) {
    double sum = 0;
    for (const auto& nbest : m.search(requests, {.beam = beam, .length_penalty = 0})) sum += nbest[0].score;
    return sum;
  };
  EXPECT_GT(total(8), total(1));
}

TEST_F(BeamSearchTest, AResultDoesNotDependOnTheBatch) {
  SearchingModel m(*alone_, 50);
  const std::vector<BeamRequest> requests =
      random_requests(all_or_few(100, 5), 50, all_or_few(20, 8));  // 100: more rows than an encoder window
  for (const int64_t beam : {1, 5}) {
    const BeamOptions options{.beam = beam, .nbest = beam};
    const Results together = m.search(requests, options, 64);
    expect_same_bits(m.search(requests, options, 7), together);
    Results one_by_one;
    BeamSearch search({m.parts()}, {.beam = options}, {}, 1);
    for (const BeamRequest& request : requests) one_by_one.push_back(search.search({request})[0]);
    expect_same_bits(one_by_one, together);
  }
}

TEST_F(BeamSearchTest, AResultDoesNotDependOnTheOrder) {
  SearchingModel m(*alone_, 50);
  const std::vector<BeamRequest> requests = random_requests(all_or_few(64, 10), 50);
  std::vector<size_t> order(requests.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  std::vector<BeamRequest> shuffled;
  for (const size_t i : order) shuffled.push_back(requests[i]);
  const Results expected = m.search(requests, {}), found = m.search(shuffled, {});
  Results back(requests.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = found[i];
  expect_same_bits(back, expected);
}

TEST_F(BeamSearchTest, LongSentencesTakeTheRowsOfSeveralGroups) {
  SearchingModel m(*alone_, 23, /*max_positions=*/700);
  std::vector<BeamRequest> requests = random_requests(30, 23);
  requests[4] = {.source = Tokens(400, 9), .max_tokens = 650};
  requests[17] = {.source = Tokens(120, 8), .max_tokens = 300};
  BeamSearch search({m.parts()}, {.beam = {.beam = 3}});
  const Results together = search.search(requests);
  for (const size_t i : {size_t{4}, size_t{17}, size_t{0}}) {
    const std::vector<Hypothesis> alone = search.search({requests[i]})[0];
    EXPECT_EQ(together[i][0].tokens, alone[0].tokens);
    EXPECT_EQ(together[i][0].log_prob, alone[0].log_prob);
    EXPECT_NEAR(alone[0].log_prob, m.log_prob(requests[i].source, alone[0].tokens),
                1e-5 * std::abs(alone[0].log_prob) + 1e-4);
  }
}

TEST_F(BeamSearchTest, TensorParallelRanksFindTheSame) {
  const int64_t vocabulary = 23;  // does not divide by 2: the last rank's table is padded
  SearchingModel whole(*alone_, vocabulary);
  const std::vector<BeamRequest> requests = random_requests(20, vocabulary, 10);
  const BeamOptions options{.beam = 4, .nbest = 2};
  const Results expected = whole.search(requests, options);
  Results found[2];
  run_thread_ranks(2, [&](Communicator& group) {
    set_num_threads(1);
    SearchingModel half(group, vocabulary);
    found[group.rank()] = half.search(requests, options);
  });
  expect_same_bits(found[0], found[1]);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(found[0][i][0].tokens, expected[i][0].tokens);
    EXPECT_NEAR(found[0][i][0].score, expected[i][0].score, 1e-3);
  }
}

TEST_F(BeamSearchTest, RanksWithFewColumnsOfATinyVocabularyTakePart) {
  SearchingModel whole(*alone_, 5);
  const std::vector<BeamRequest> requests = random_requests(5, 5, 6);
  const Results expected = whole.search(requests, {.beam = 6, .nbest = 6});
  run_thread_ranks(2, [&](Communicator& group) {  // 3 and 2 columns, fewer than the 7 requested
    set_num_threads(1);
    SearchingModel half(group, 5);
    const Results found = half.search(requests, {.beam = 6, .nbest = 6});
    for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(found[i][0].tokens, expected[i][0].tokens);
  });
}

TEST_F(BeamSearchTest, TellsHowManyAreDone) {
  SearchingModel m(*alone_);
  std::vector<int64_t> told;
  BeamSearch({m.parts()}, {}).search(random_requests(9, 23), [&](int64_t done) { told.push_back(done); });
  EXPECT_EQ(told, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(BeamSearchTest, RefusesWhatMakesNoSense) {
  SearchingModel m(*alone_);
  EXPECT_THROW(BeamSearch({m.parts()}, {.beam = {.beam = 0}}), Error);
  EXPECT_THROW(BeamSearch({m.parts()}, {.beam = {.beam = 2, .nbest = 3}}), Error);
  ops::fill(m.ctx, {.x = m.params.values(), .value = std::nanf("")});
  testing::message_of(ErrorKind::diverged, [&] { m.search(random_requests(1, 23), {}); });
}

// Ids 3 and 4 are lead bytes of two-byte characters, 5 to 7 the bytes that continue one, the rest is text.
TEST(BeamSearchRules, HoldInEveryHypothesis) {
  TokenRules rules{.classes = std::vector<int32_t>(23, static_cast<int32_t>(TokenClass::text))};
  const auto set = [&](int32_t id, TokenClass c) { rules.classes[static_cast<size_t>(id)] = static_cast<int32_t>(c); };
  for (const int32_t id : {SpecialIds::unk, SpecialIds::bos}) set(id, TokenClass::forbidden);
  set(SpecialIds::eos, TokenClass::end);
  for (const int32_t id : {3, 4}) set(id, TokenClass::lead_2);
  set(5, TokenClass::next_80), set(6, TokenClass::next_90), set(7, TokenClass::next_A0);
  std::vector<BeamRequest> requests = random_requests(all_or_few(12, 3), 23);
  for (BeamRequest& r : requests) r.min_tokens = 3;
  const auto is_lead = [](int32_t id) { return id == 3 || id == 4; };
  for (const int64_t beam : {1, 4, 30})
    run_thread_ranks(2, [&](Communicator& group) {
      SearchingModel m(group);
      BeamSearch search({m.parts()}, {.beam = {.beam = beam, .nbest = beam}}, rules);
      for (const std::vector<Hypothesis>& nbest : search.search(requests))
        for (const Hypothesis& h : nbest) {
          EXPECT_GE(std::ssize(h.tokens), 3);
          EXPECT_FALSE(is_lead(h.tokens.back()));
          for (size_t i = 0; i < h.tokens.size(); ++i) {
            EXPECT_GT(h.tokens[i], SpecialIds::eos);
            EXPECT_EQ(h.tokens[i] >= 5 && h.tokens[i] <= 7, i > 0 && is_lead(h.tokens[i - 1]));
          }
        }
    });
}

}  // namespace
}  // namespace weft
