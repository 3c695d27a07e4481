// tests/model/decoding/sampling_test.cpp: draws compared with distributions that are computed in double, and samples of
// a model in other batches and on other grids.
#include "model/decoding/sampling.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/model/decoding/search_fixture.h"

namespace weft {
namespace {

using testing::all_or_few;
using testing::expect_same_bits;
using testing::random_requests;
using testing::Results;
using testing::SearchingModel;
using testing::Tokens;

class SamplingTest : public testing::SearchTest {};

std::vector<double> random_log_probs(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 2);
  std::vector<double> log_probs(count);
  for (double& x : log_probs) x = normal(random);
  return log_probs;
}

// The definition of sampling.h, by sorting everything.
std::vector<double> expected_probabilities(const std::vector<double>& log_probs, const SamplingOptions& options) {
  std::vector<std::pair<double, size_t>> sorted;  // minus the weight, id
  double total = 0;
  for (size_t id = 0; id < log_probs.size(); ++id) {
    const double weight = std::pow(std::exp(log_probs[id]), 1 / options.temperature);
    if (weight > 0) sorted.emplace_back(-weight, id);
  }
  std::ranges::sort(sorted);
  if (options.top_k > 0 && options.top_k < std::ssize(sorted)) sorted.resize(static_cast<size_t>(options.top_k));
  for (const auto& [minus, id] : sorted) total -= minus;
  std::vector<double> probabilities(log_probs.size(), 0.0);
  double sum = 0, kept = 0;
  for (const auto& [minus, id] : sorted) {
    if (options.top_p < 1 && sum >= options.top_p * total) break;
    sum -= minus;
    probabilities[id] = -minus;
    kept -= minus;
  }
  for (double& p : probabilities) p /= kept;
  return probabilities;
}

const std::vector<SamplingOptions> kOptions = {
    {},
    {.temperature = 0.5},
    {.temperature = 1.7},
    {.top_k = 1},
    {.top_k = 10},
    {.top_p = 0.9},
    {.top_p = 0.01},
    {.top_k = 100, .top_p = 0.7, .temperature = 1.3},
    {.top_k = 5000, .top_p = 0.999},
};

TEST(Sampling, WeightsAreProbabilitiesOfTheDefinition) {
  for (const size_t count : {1u, 7u, 300u, 3000u}) {
    std::vector<double> log_probs = random_log_probs(count, 5);
    for (size_t i = 1; i < count; i += 9) log_probs[i] = -INFINITY;
    for (const SamplingOptions& options : kOptions) {
      std::vector<double> found = sampling_weights(log_probs, options);
      const double total = std::accumulate(found.begin(), found.end(), 0.0);
      const std::vector<double> expected = expected_probabilities(log_probs, options);
      for (size_t id = 0; id < count; ++id) EXPECT_NEAR(found[id] / total, expected[id], 1e-12) << count << " " << id;
    }
  }
}

TEST(Sampling, EqualTokensKeepTheLowestIds) {
  const std::vector<double> equal(6, -1.0);
  EXPECT_EQ(sampling_weights(equal, {.top_k = 2}), (std::vector<double>{1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(sampling_weights(equal, {.top_p = 0.5}), (std::vector<double>{1, 1, 1, 0, 0, 0}));
}

// Pearson's test. The statistic has mean f and variance 2 f with f degrees of freedom; five deviations are accepted.
void expect_distribution(const std::map<int32_t, int64_t>& counts, const std::vector<double>& expected, int64_t draws) {
  double statistic = 0, rest = 0;
  int64_t degrees = -1, counted = 0;
  for (size_t id = 0; id < expected.size(); ++id) {
    const auto found = counts.find(static_cast<int32_t>(id));
    const int64_t count = found == counts.end() ? 0 : found->second;
    if (expected[id] == 0) {
      EXPECT_EQ(count, 0) << "token " << id;
    }
    const double wanted = expected[id] * static_cast<double>(draws);
    if (wanted < 5) {  // all rare tokens are one class
      rest += wanted;
      continue;
    }
    statistic += std::pow(static_cast<double>(count) - wanted, 2) / wanted;
    counted += count;
    ++degrees;
  }
  if (rest >= 5) {
    statistic += std::pow(static_cast<double>(draws - counted) - rest, 2) / rest;
    ++degrees;
  }
  const auto f = static_cast<double>(degrees);
  EXPECT_LT(statistic, f + 5 * std::sqrt(2 * f) + 1e-9) << degrees << " degrees of freedom";
}

TEST(Sampling, DrawsFollowTheDistribution) {
  const std::vector<double> log_probs = random_log_probs(300, 9);
  constexpr int64_t kDraws = 50'000;
  for (const SamplingOptions& options : kOptions) {
    const std::vector<double> weights = sampling_weights(log_probs, options);
    std::map<int32_t, int64_t> of_samples, of_positions;
    for (int64_t i = 0; i < kDraws; ++i) {
      ++of_samples[draw(weights, sampling_uniform(3, 77, i, 2))];
      ++of_positions[draw(weights, sampling_uniform(3, static_cast<uint64_t>(i / 1000), 1, i % 1000))];
    }
    const std::vector<double> expected = expected_probabilities(log_probs, options);
    expect_distribution(of_samples, expected, kDraws);
    expect_distribution(of_positions, expected, kDraws);
  }
}

TEST(Sampling, NeverDrawsATokenOfProbability0) {
  const std::vector<double> weights{0, 1, 0, 1, 0};
  for (const double uniform : {0.0, 0.25, 0.5, 0.75, 1 - 0x1p-53}) EXPECT_GT(weights[draw(weights, uniform)], 0);
  EXPECT_EQ(draw(weights, 0), 1);
  EXPECT_EQ(draw(weights, 1 - 0x1p-53), 3);
}

TEST(Sampling, KeysDifferByEachTokenAndWhereThePrefixBegins) {
  const Tokens a{3, 4}, b{4, 3}, c{3, 4, 5}, d{5}, none;
  EXPECT_NE(sampling_key(a, none), sampling_key(b, none));
  EXPECT_NE(sampling_key(c, none), sampling_key(a, d));
  EXPECT_NE(sampling_uniform(1, 2, 3, 4), sampling_uniform(2, 2, 3, 4));
  EXPECT_NE(sampling_uniform(1, 2, 3, 4), sampling_uniform(1, 2, 4, 4));
  EXPECT_NE(sampling_uniform(1, 2, 3, 4), sampling_uniform(1, 2, 3, 5));
}

SearchOptions sampled(SamplingOptions sampling = {}) {
  sampling.samples = 1;
  return {.beam = {.beam = 1}, .sampling = sampling};
}

std::vector<BeamRequest> repeated(const BeamRequest& request, int64_t samples) {
  std::vector<BeamRequest> all(static_cast<size_t>(samples), request);
  for (size_t i = 0; i < all.size(); ++i) all[i].sample = static_cast<int64_t>(i);
  return all;
}

TEST_F(SamplingTest, FirstTokensFollowTheModel) {
  SearchingModel m(*alone_);
  const BeamRequest request{.source = {5, 9, 9, 4}, .max_tokens = 1};
  std::vector<Tokens> targets;
  for (int32_t id = 0; id < 23; ++id) targets.push_back({id});
  std::vector<double> log_probs;
  for (const std::vector<double>& row : m.rows(request.source, targets)) log_probs.push_back(row[0]);
  log_probs[SpecialIds::bos] = -INFINITY;
  const auto draws = all_or_few(4000, 100);
  std::map<int32_t, int64_t> counts;
  BeamSearch search({m.parts()}, sampled({.temperature = 1.2}));
  for (const std::vector<Hypothesis>& nbest : search.search(repeated(request, draws)))
    ++counts[nbest[0].tokens.empty() ? SpecialIds::eos : nbest[0].tokens[0]];
  expect_distribution(counts, expected_probabilities(log_probs, {.temperature = 1.2}), draws);
}

TEST_F(SamplingTest, LogProbabilitiesAreThoseOfTheModel) {
  SearchingModel m(*alone_);
  const std::vector<BeamRequest> requests = random_requests(10, 23);
  const Results found = BeamSearch({m.parts()}, sampled({.top_k = 9, .temperature = 0.7})).search(requests);
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_NEAR(found[i][0].log_prob, m.log_prob(requests[i].source, found[i][0].tokens), 1e-3);
}

TEST_F(SamplingTest, OfTheBestTokenAloneIsGreedySearch) {
  SearchingModel m(*alone_);
  const std::vector<BeamRequest> requests = random_requests(20, 23);
  expect_same_bits(BeamSearch({m.parts()}, sampled({.top_k = 1})).search(requests), m.search(requests, {.beam = 1}));
}

TEST_F(SamplingTest, ASampleDependsOnItsSentenceSeedAndNumberAlone) {
  SearchingModel m(*alone_, 50);
  std::vector<BeamRequest> requests = random_requests(all_or_few(80, 5), 50, 8);
  for (size_t i = 0; i < requests.size(); ++i) requests[i].sample = static_cast<int64_t>(i % 3);
  const Results together = BeamSearch({m.parts()}, sampled()).search(requests);
  Results one_by_one;
  BeamSearch search({m.parts()}, sampled(), {}, 1);
  for (const BeamRequest& request : requests) one_by_one.push_back(search.search({request})[0]);
  expect_same_bits(one_by_one, together);

  const std::vector<BeamRequest> samples = repeated(requests.back(), 8);
  const Results first = search.search(samples), other = BeamSearch({m.parts()}, sampled({.seed = 2})).search(samples);
  for (size_t i = 1; i < samples.size(); ++i) EXPECT_NE(first[i][0].tokens, first[0][0].tokens);
  EXPECT_NE(other[0][0].tokens, first[0][0].tokens);
}

TEST_F(SamplingTest, TensorParallelRanksDrawTheSame) {
  SearchingModel whole(*alone_);
  const std::vector<BeamRequest> requests = random_requests(20, 23, 10);
  const Results expected = BeamSearch({whole.parts()}, sampled({.top_p = 0.95})).search(requests);
  Results found[2];
  run_thread_ranks(2, [&](Communicator& group) {
    set_num_threads(1);
    SearchingModel half(group);
    found[group.rank()] = BeamSearch({half.parts()}, sampled({.top_p = 0.95})).search(requests);
  });
  expect_same_bits(found[0], found[1]);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(found[0][i][0].tokens, expected[i][0].tokens);
    EXPECT_NEAR(found[0][i][0].score, expected[i][0].score, 1e-3);
  }
}

TEST_F(SamplingTest, NeedsABeamOf1) {
  SearchingModel m(*alone_);
  EXPECT_THROW(BeamSearch({m.parts()}, {.beam = {.beam = 2}, .sampling = {.samples = 1}}), Error);
}

}  // namespace
}  // namespace weft
