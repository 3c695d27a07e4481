// tests/data/order/turns_test.cpp: parts have their exact shares of the turns, at any time.
#include "data/order/turns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tensor/random.h"

namespace weft {
namespace {

std::vector<std::vector<int64_t>> weight_lists() {
  std::vector<std::vector<int64_t>> lists = {{1},         {1, 1}, {3, 1}, {99, 1}, {7, 11, 13}, {1000000, 1, 999},
                                             {5, 5, 5, 5}};
  for (uint64_t i = 0; i < 40; ++i) {  // random ones of up to 8 parts
    std::vector<int64_t> weights(2 + philox(1, i, 0, 0).v[0] % 7);
    for (size_t j = 0; j < weights.size(); ++j)
      weights[j] = 1 + philox(2, i, static_cast<uint32_t>(j), 0).v[0] % (j % 2 == 0 ? 10 : 1000);
    lists.push_back(weights);
  }
  return lists;
}

TEST(Turns, DifferFromTheSharesByLessThanOneAtAnyTime) {
  for (const std::vector<int64_t>& weights : weight_lists()) {
    const auto n = static_cast<double>(weights.size());
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double most = n < 2 ? 0 : 1 - 1 / (2 * n - 2);
    Turns turns(weights);
    std::vector<int64_t> had(weights.size());
    for (int64_t k = 1; k <= 5000; ++k) {
      const size_t part = turns.next();
      turns.take(part);
      ++had[part];
      for (size_t i = 0; i < weights.size(); ++i) {
        const double share = static_cast<double>(k * weights[i]) / total;
        ASSERT_LE(std::abs(static_cast<double>(had[i]) - share), most + 1e-9) << "part " << i << " after " << k;
      }
    }
  }
}

TEST(Turns, OfAllPhasesHaveTheSharesTogether) {
  constexpr int64_t kPhases = 64;
  const std::vector<int64_t> weights = {90, 9, 1};
  std::vector<Turns> phases;
  for (int64_t p = 0; p < kPhases; ++p) phases.emplace_back(weights, p);
  std::vector<int64_t> had(3);
  for (int64_t k = 1; k <= 300; ++k) {
    for (Turns& turns : phases) {
      const size_t part = turns.next();
      turns.take(part);
      ++had[part];
    }
    for (size_t i = 0; i < 3; ++i)  // 64 streams that begin alike would differ by up to 48 of them
      EXPECT_NEAR(static_cast<double>(had[i]), static_cast<double>(k * kPhases * weights[i]) / 100, 12)
          << "after " << k;
  }
}

TEST(Turns, MakeUpForATurnGivenToAnother) {
  Turns turns({3, 1});
  EXPECT_TRUE(turns.may_take(1));
  turns.take(1);
  EXPECT_FALSE(turns.may_take(1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(turns.next(), 0u);
    turns.take(0);
  }
  EXPECT_EQ(turns.credits(), (std::vector<int64_t>{0, 0}));
}

TEST(Turns, GoOnFromTheirCredits) {
  Turns turns({7, 11, 13}, 3);
  for (int i = 0; i < 1000; ++i) {
    Turns restored({7, 11, 13});
    ASSERT_TRUE(restored.restore(turns.credits()));
    ASSERT_EQ(restored.next(), turns.next());
    turns.take(turns.next());
  }
}

TEST(Turns, RefuseCreditsThatCannotBeTheirs) {
  Turns turns({7, 11, 13});
  const std::vector<int64_t> before = turns.credits();
  for (const std::vector<int64_t>& credits :
       {std::vector<int64_t>{}, {0, 0}, {1, 0, 0}, {int64_t{1} << 40, -(int64_t{1} << 40), 0}})
    EXPECT_FALSE(turns.restore(credits));
  EXPECT_EQ(turns.credits(), before);
}

}  // namespace
}  // namespace weft
