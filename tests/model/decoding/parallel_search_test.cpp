// tests/model/decoding/parallel_search_test.cpp: several searches beside each other find what one search finds.
#include "model/decoding/parallel_search.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tensor/error.h"
#include "tests/model/decoding/search_fixture.h"

namespace weft::testing {
namespace {

constexpr int64_t kRequests = 30;

// A model that is used for inference.
struct ServingModel : SearchingModel {
  explicit ServingModel(Communicator& group) : SearchingModel(group) {
    params.add_inference_copies();
    params.round_values(ctx);
  }
};

using ParallelSearchTest = SearchTest;

TEST_F(ParallelSearchTest, FindsTheSameOnEveryNumberOfThreads) {
  ServingModel m(*alone_);
  const std::vector<BeamRequest> requests = random_requests(kRequests, 23);
  const SearchOptions options{.beam = {.beam = 3, .nbest = 2}};
  const Results expected = BeamSearch({m.parts()}, options).search(requests);
  for (const int threads : {1, 2, 3, 10}) {
    SCOPED_TRACE(fmt::format("{} threads", threads));
    set_num_threads(threads);
    ParallelSearch search({m.parts()}, options);
    expect_same_bits(search.search(requests), expected);
    expect_same_bits(search.search({requests[20]}), {expected[20]});
    EXPECT_EQ(num_threads(), threads);
  }
}

TEST_F(ParallelSearchTest, SamplesFromAnEnsembleInTheSameWay) {
  ServingModel a(*alone_), b(*alone_);
  const SearchOptions options{.beam = {.beam = 1}, .sampling = {.samples = 1, .seed = 3}};
  const std::vector<BeamRequest> requests = random_requests(kRequests, 23);
  const Results expected = BeamSearch({a.parts(), b.parts()}, options).search(requests);
  set_num_threads(3);
  expect_same_bits(ParallelSearch({a.parts(), b.parts()}, options).search(requests), expected);
}

TEST_F(ParallelSearchTest, HasNoMoreSearchesThanSentencesAtTheSameTimeOrThreads) {
  ServingModel m(*alone_);
  const bool several = m.model.has_inference_weights();  // not on processors without AVX2
  set_num_threads(4);
  const auto searches = [&](int64_t side_by_side) {
    return ParallelSearch({m.parts()}, {.beam = {.beam = 3}}, {}, side_by_side).most_searches();
  };
  EXPECT_EQ(searches(1), 1);
  EXPECT_EQ(searches(3), several ? 3 : 1);
  EXPECT_EQ(searches(0), several ? 4 : 1);
  set_num_threads(20);
  EXPECT_EQ(searches(0), several ? 8 : 1);
}

TEST_F(ParallelSearchTest, IsOneSearchForAModelInTraining) {
  SearchingModel m(*alone_);
  set_num_threads(4);
  EXPECT_EQ(ParallelSearch({m.parts()}, {.beam = {.beam = 3}}).most_searches(), 1);
}

TEST_F(ParallelSearchTest, CountsFinishedRequestsOverAllSearches) {
  ServingModel m(*alone_);
  set_num_threads(3);
  std::vector<int64_t> counts;
  ParallelSearch({m.parts()}, {.beam = {.beam = 2}}).search(random_requests(kRequests, 23), [&](int64_t done) {
    counts.push_back(done);
  });
  std::vector<int64_t> expected(kRequests);
  std::iota(expected.begin(), expected.end(), int64_t{1});
  EXPECT_EQ(counts, expected);
}

TEST_F(ParallelSearchTest, EndsIfTheCallerCannotCount) {
  ServingModel m(*alone_);
  set_num_threads(3);
  const auto fails = [](int64_t done) {
    if (done == 2) throw std::runtime_error("full");
  };
  EXPECT_THROW(ParallelSearch({m.parts()}, {.beam = {.beam = 2}}).search(random_requests(kRequests, 23), fails),
               std::runtime_error);
}

TEST_F(ParallelSearchTest, ThrowsTheErrorOfASearchWithWhatTheCallerDoes) {
  ServingModel m(*alone_);
  set_num_threads(2);
  std::vector<BeamRequest> requests = random_requests(kRequests, 23);
  requests[0].max_tokens = 100000;
  const ErrorFrame frame("while translating");
  try {
    ParallelSearch({m.parts()}, {.beam = {.beam = 2}}).search(requests);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.frames(), std::vector<std::string>{"while translating"});
  }
}

}  // namespace
}  // namespace weft::testing
