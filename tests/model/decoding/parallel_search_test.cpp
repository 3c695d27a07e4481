// tests/model/decoding/parallel_search_test.cpp: several searches beside each other find what one search finds.
#include "model/decoding/parallel_search.h"

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/model/decoding/search_fixture.h"

namespace weft::testing {
namespace {

// A search that computes idle slots takes all requests that fit into its slots, so there are more requests than that.
constexpr int64_t kRequests = 70;

using ParallelSearchTest = SearchTest;

TEST_F(ParallelSearchTest, FindsTheSameOnEveryNumberOfThreads) {
  SearchingModel m(*alone_);
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

TEST_F(ParallelSearchTest, DecodesNoMoreSentencesAtTheSameTimeThanItMay) {
  SearchingModel m(*alone_);
  set_num_threads(4);
  const auto bytes = [&](int64_t side_by_side) {
    return ParallelSearch({m.parts()}, {.beam = {.beam = 3}}, {}, side_by_side).memory_bytes();
  };
  const size_t one = BeamSearch({m.parts()}, {.beam = {.beam = 3}}).memory_bytes();
  EXPECT_EQ(bytes(1), one);
  EXPECT_GE(bytes(3), 3 * one);  // with the scratch memory of two searches
  EXPECT_LT(bytes(3), 4 * one);
  EXPECT_GE(bytes(0), 4 * one);
}

TEST_F(ParallelSearchTest, CountsFinishedRequestsOverAllSearches) {
  SearchingModel m(*alone_);
  set_num_threads(3);
  std::vector<int64_t> counts;
  ParallelSearch({m.parts()}, {.beam = {.beam = 2}}).search(random_requests(kRequests, 23), [&](int64_t done) {
    counts.push_back(done);
  });
  std::vector<int64_t> expected(kRequests);
  std::iota(expected.begin(), expected.end(), int64_t{1});
  EXPECT_EQ(counts, expected);
}

TEST_F(ParallelSearchTest, ThrowsTheErrorOfASearchWithWhatTheCallerDoes) {
  SearchingModel m(*alone_);
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
