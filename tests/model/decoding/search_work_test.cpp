// tests/model/decoding/search_work_test.cpp: searches that share sentences.
#include "model/decoding/search_work.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Indices = std::vector<size_t>;

std::vector<BeamRequest> with_sources(const std::vector<size_t>& tokens) {
  std::vector<BeamRequest> requests;
  for (const size_t count : tokens) requests.push_back({.source = std::vector<int32_t>(count, 7)});
  return requests;
}

TEST(SearchWork, HandsOutTheLongestSourcesThatFitWithTheirEos) {
  const std::vector<BeamRequest> requests = with_sources({2, 9, 5, 5, 0});
  SearchWork work(requests, {});
  EXPECT_EQ(work.take(15), (Indices{1}));  // 10 rows, and not another 6
  EXPECT_EQ(work.take(15), (Indices{2, 3, 0}));
  EXPECT_EQ(work.take(15), (Indices{4}));
  EXPECT_EQ(work.take(15), (Indices{}));
}

TEST(SearchWork, LeavesEachOfSeveralSearchesItsShare) {
  const std::vector<BeamRequest> requests = with_sources(Indices(9, 3));
  SearchWork work(requests, {}, /*searches=*/2);
  Indices sizes;
  for (Indices taken = work.take(1000); !taken.empty(); taken = work.take(1000)) sizes.push_back(taken.size());
  EXPECT_EQ(sizes, (Indices{3, 2, 1, 1, 1, 1}));
}

TEST(SearchWork, ReturnsResultsInTheOrderOfTheRequestsAndCountsThem) {
  const std::vector<BeamRequest> requests = with_sources({1, 2});
  std::vector<int64_t> counts;
  const std::function<void(int64_t)> on_done = [&](int64_t done) { counts.push_back(done); };
  SearchWork work(requests, on_done);
  work.finish(1, {{.score = -1}});
  work.finish(0, {{.score = -2}});
  EXPECT_EQ(counts, (std::vector<int64_t>{1, 2}));
  const auto results = work.results();
  EXPECT_EQ(results[0].front().score, -2);
  EXPECT_EQ(results[1].front().score, -1);
}

TEST(SearchWork, HasNothingLeftAfterAFailure) {
  const std::vector<BeamRequest> requests = with_sources({1, 2});
  SearchWork work(requests, {});
  work.drop_rest();
  EXPECT_EQ(work.take(100), (Indices{}));
}

}  // namespace
}  // namespace weft
