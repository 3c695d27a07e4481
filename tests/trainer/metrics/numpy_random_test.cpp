// tests/trainer/metrics/numpy_random_test.cpp: the numbers of numpy, from tests/reference/numpy_random.py.
#include "trainer/metrics/numpy_random.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weft::testing {
namespace {

const nlohmann::json& generators() {
  static const nlohmann::json reference =
      nlohmann::json::parse(std::ifstream(WEFT_SOURCE_DIR "/tests/reference/numpy_random.json"));
  return reference["generators"];
}

std::string flip_coins(NumpyRandom& random, size_t count) {
  CoinFlips coins(random);
  std::string flips;
  while (flips.size() < count) flips += coins.next() ? '1' : '0';
  return flips;
}

std::vector<uint32_t> numbers_below(NumpyRandom& random, uint32_t bound, size_t count) {
  std::vector<uint32_t> numbers;
  while (numbers.size() < count) numbers.push_back(random.below(bound));
  return numbers;
}

TEST(NumpyRandom, SeedSequenceGivesTheSameState) {
  ASSERT_GE(generators().size(), 6u);
  for (const auto& g : generators()) EXPECT_EQ(numpy_seed_state(g["seed"]), g["seed_state"]) << g["seed"];
}

TEST(NumpyRandom, FirstOutputsAreTheSame) {
  for (const auto& g : generators()) {
    NumpyRandom random(g["seed"]);
    for (const auto& expected : g["uint64"]) EXPECT_EQ(random.next_uint64(), expected) << g["seed"];
  }
}

TEST(NumpyRandom, NumbersBelowABoundAreTheSameAlsoWhereManyAreRejected) {
  for (const auto& g : generators())
    for (const auto& [bound, expected] : g["below"].get<std::vector<std::pair<uint32_t, std::vector<uint32_t>>>>()) {
      NumpyRandom random(g["seed"]);
      EXPECT_EQ(numbers_below(random, bound, expected.size()), expected) << g["seed"] << " below " << bound;
    }
}

TEST(NumpyRandom, CoinsAreTheSame) {
  for (const auto& g : generators()) {
    NumpyRandom random(g["seed"]);
    const std::string expected = g["coins"];
    EXPECT_EQ(flip_coins(random, expected.size()), expected) << g["seed"];
  }
}

TEST(NumpyRandom, HalfPrecisionKeptBetweenCallsIsTheSame) {
  for (const auto& g : generators()) {
    NumpyRandom random(g["seed"]);
    EXPECT_EQ(numbers_below(random, 7, 5), g["five below 7"]);
    EXPECT_EQ(flip_coins(random, 10), g["then ten coins"]);
    EXPECT_EQ(numbers_below(random, 1000, 5), g["then five below 1000"]);
  }
}

}  // namespace
}  // namespace weft::testing
