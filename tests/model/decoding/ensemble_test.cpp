// tests/model/decoding/ensemble_test.cpp: means of models compared with the whole decoders in double, and n-grams that
// may not repeat.
#include "model/decoding/ensemble.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/model/decoding/search_fixture.h"

namespace weft {
namespace {

using testing::all_or_few;
using testing::expect_same_bits;
using testing::random_requests;
using testing::Results;
using testing::SearchingModel;
using testing::Tokens;

class EnsembleTest : public testing::SearchTest {};

// A model of another kind than the usual one, with the same vocabulary.
SearchingModel other_model(Communicator& group, int64_t vocabulary = 23) {
  return SearchingModel(
      group, vocabulary, 300, [](ModelConfig& c) { c.norm = NormPosition::pre, c.final_norm = true, c.width = 32; },
      11);
}

double mean_of(double a, double b, EnsembleMean mean) {
  return mean == EnsembleMean::log_probability ? (a + b) / 2 : std::log((std::exp(a) + std::exp(b)) / 2);
}

TEST(MeanLogProbs, IsTheMeanOfProbabilitiesOrOfTheirLogarithms) {
  const std::vector<std::vector<double>> rows{{std::log(0.5), -800}, {std::log(0.1), -900}, {std::log(0.3), -801}};
  const std::vector<double> p = mean_log_probs(rows, EnsembleMean::probability);
  EXPECT_NEAR(p[0], std::log(0.3), 1e-15);
  EXPECT_NEAR(p[1], -800 + std::log((1 + std::exp(-100) + std::exp(-1)) / 3), 1e-12);  // no underflow
  const std::vector<double> l = mean_log_probs(rows, EnsembleMean::log_probability);
  EXPECT_NEAR(l[0], std::log(0.5 * 0.1 * 0.3) / 3, 1e-15);
  EXPECT_NEAR(l[1], -2501.0 / 3, 1e-12);
}

TEST_F(EnsembleTest, GreedySearchTakesTheBestTokenOfTheMean) {
  constexpr int32_t kVocabulary = 13;
  SearchingModel a(*alone_, kVocabulary), b = other_model(*alone_, kVocabulary);
  const std::vector<BeamRequest> requests = random_requests(all_or_few(6, 2), kVocabulary, 6);
  for (const EnsembleMean mean : {EnsembleMean::probability, EnsembleMean::log_probability}) {
    const Results found = BeamSearch({a.parts(), b.parts()}, {.beam = {.beam = 1}, .mean = mean}).search(requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      const Hypothesis& h = found[i][0];
      Tokens tokens;
      for (size_t at = 0; at <= h.tokens.size(); ++at) {
        std::vector<Tokens> targets{tokens};
        for (int32_t id = 0; id < kVocabulary; ++id) (targets.emplace_back(tokens)).push_back(id);
        const auto of_a = a.rows(requests[i].source, targets), of_b = b.rows(requests[i].source, targets);
        std::vector<double> means;
        for (size_t id = 0; id < kVocabulary; ++id) means.push_back(mean_of(of_a[id + 1][at], of_b[id + 1][at], mean));
        means[SpecialIds::eos] = mean_of(of_a[0][at], of_b[0][at], mean);
        means[SpecialIds::bos] = -INFINITY;
        const bool ends = at == h.tokens.size();
        const int32_t taken = ends ? SpecialIds::eos : h.tokens[at];
        EXPECT_NEAR(h.log_probs[at], means[static_cast<size_t>(taken)], 1e-4);
        if (std::ssize(tokens) < requests[i].max_tokens) {
          EXPECT_NEAR(*std::ranges::max_element(means), means[static_cast<size_t>(taken)], 1e-4);
        }
        tokens.push_back(taken);
      }
    }
  }
}

TEST_F(EnsembleTest, OfOneModelTwiceIsThisModel) {
  SearchingModel m(*alone_);
  const std::vector<BeamRequest> requests = random_requests(10, 23);
  const BeamOptions beam{.beam = 4, .nbest = 4};
  expect_same_bits(
      BeamSearch({m.parts(), m.parts()}, {.beam = beam, .mean = EnsembleMean::log_probability}).search(requests),
      m.search(requests, beam));
}

TEST_F(EnsembleTest, TensorParallelRanksFindTheSame) {
  SearchingModel a(*alone_), b = other_model(*alone_);
  const std::vector<BeamRequest> requests = random_requests(10, 23, 8);
  const SearchOptions options{.beam = {.beam = 3}, .no_repeat_ngram = 2};
  const Results expected = BeamSearch({a.parts(), b.parts()}, options).search(requests);
  run_thread_ranks(2, [&](Communicator& group) {
    set_num_threads(1);
    SearchingModel half_a(group), half_b = other_model(group);
    const Results found = BeamSearch({half_a.parts(), half_b.parts()}, options).search(requests);
    for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(found[i][0].tokens, expected[i][0].tokens);
  });
}

TEST_F(EnsembleTest, NgramsThatCannotRepeatChangeNothing) {
  SearchingModel m(*alone_);
  const std::vector<BeamRequest> requests = random_requests(all_or_few(20, 5), 23);
  for (const BeamKind kind : {BeamKind::shrinking, BeamKind::fixed, BeamKind::first}) {
    const BeamOptions beam{.beam = 4, .kind = kind, .nbest = 4};
    expect_same_bits(BeamSearch({m.parts()}, {.beam = beam, .no_repeat_ngram = 500}).search(requests),
                     m.search(requests, beam));
  }
}

TEST_F(EnsembleTest, NoNgramRepeats) {
  SearchingModel m(*alone_);
  const std::vector<BeamRequest> requests = random_requests(all_or_few(20, 5), 23);
  int64_t repeated_without = 0;
  const auto repeats = [](const Tokens& tokens, int64_t n) {
    std::set<Tokens> seen;
    for (auto begin = tokens.begin(); tokens.end() - begin >= n; ++begin)
      if (!seen.insert(Tokens(begin, begin + n)).second) return true;
    return false;
  };
  for (const int64_t n : {1, 2, 3}) {
    for (const auto& nbest : m.search(requests, {.beam = 4, .nbest = 4}))
      for (const Hypothesis& h : nbest) repeated_without += repeats(h.tokens, n);
    for (const auto& nbest :
         BeamSearch({m.parts()}, {.beam = {.beam = 4, .nbest = 4}, .no_repeat_ngram = n}).search(requests))
      for (const Hypothesis& h : nbest) EXPECT_FALSE(repeats(h.tokens, n));
  }
  EXPECT_GT(repeated_without, 0);
}

TEST(RepeatingTokens, CompleteASequenceThatIsThere) {
  EXPECT_EQ(repeating_tokens({5, 6, 7, 5, 6}, 3), Tokens{7});
  EXPECT_EQ(repeating_tokens({5, 6, 7, 5, 6}, 1), (Tokens{5, 6, 7, 5, 6}));
  EXPECT_EQ(repeating_tokens({5, 6, 5, 7, 5}, 2), (Tokens{6, 7}));
  EXPECT_EQ(repeating_tokens({5, 5}, 2), Tokens{5});
  EXPECT_EQ(repeating_tokens({5}, 2), Tokens{});
  EXPECT_EQ(repeating_tokens({}, 1), Tokens{});
  EXPECT_EQ(repeating_tokens({5, 6}, 3), Tokens{});
}

}  // namespace
}  // namespace weft
