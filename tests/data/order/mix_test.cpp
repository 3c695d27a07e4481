// tests/data/order/mix_test.cpp: the text of a mix, and what is refused in it.
#include "data/order/mix.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/open_mix.h"
#include "tests/support/synthetic_corpus.h"

namespace weft {
namespace {
using testing::open_mix;

using Weights = std::vector<std::pair<std::string, int64_t>>;  // of folders

std::vector<MixCorpus> read(const std::string& text) { return parse_mix("data.train", text); }

Weights parsed(const std::string& text) {
  Weights weights;
  for (const MixCorpus& corpus : read(text)) weights.emplace_back(corpus.folder, corpus.weight);
  return weights;
}

TEST(Mix, OfOneFolderIsThatFolder) {
  EXPECT_EQ(parsed("packed/train"), (Weights{{"packed/train", 1}}));
  EXPECT_EQ(parsed("d:/packed"), (Weights{{"d:/packed", 1}}));
  EXPECT_EQ(parsed("packed/v:2/"), (Weights{{"packed/v:2/", 1}}));
  EXPECT_EQ(mix_text(read("packed/train:3")), "packed/train");
}

TEST(Mix, HasWholeWeightsWithoutACommonDivisor) {
  EXPECT_EQ(parsed("a:3,b:1"), (Weights{{"a", 3}, {"b", 1}}));
  EXPECT_EQ(parsed("a:0.75,b:0.25"), (Weights{{"a", 3}, {"b", 1}}));
  EXPECT_EQ(parsed("a,b:0.001"), (Weights{{"a", 1000}, {"b", 1}}));
  EXPECT_EQ(parsed("a,b,c"), (Weights{{"a", 1}, {"b", 1}, {"c", 1}}));
  EXPECT_EQ(mix_text(read("a:6,b:2")), "a:3,b:1");
  EXPECT_EQ(parsed("a:3, b:1 ,\tv:2/:5"), (Weights{{"a", 3}, {"b", 1}, {"v:2/", 5}}));
}

TEST(Mix, RefusesWhatItCannotMean) {
  const auto refused = [](const std::string& text, const std::string& why) {
    testing::expect_error([&] { parsed(text); }, ErrorKind::usage, {"data.train", why});
  };
  refused("a,", "lacks a folder");
  refused(",a", "lacks a folder");
  refused("a:1,:2", "lacks a folder");
  refused("a:0,b:1", "the weight of 'a' is '0', but must be a number from 0.001 to 1000");
  refused("a:0.0005,b:1", "at most three decimals");
  refused("a:1001,b:1", "from 0.001 to 1000");
  for (const char* weight : {"1.2.3", "-1", "1e2", "", "3x", " 3"})
    refused(fmt::format("p/a:{},b:1", weight),
            fmt::format(
                "the weight of 'p/a' is '{}', but must be a number from 0.001 to 1000 with at most three decimals, as "
                "in p/a:0.5 (if the folder's name contains a colon, write / after the name)",
                weight));
  refused("a:1,a:2", "names 'a' twice");
  std::string many = "c";
  for (int i = 0; i < 32; ++i) many += ",c" + std::to_string(i);
  refused(many, "a mix may have at most 32");
}

TEST(SourceRowsOfAMix, FollowTheRatioOfAMeanPair) {
  const testing::SyntheticCorpus longer({{29, 9}}), shorter({{4, 19}, {4, 19}});
  const Mix mix = open_mix({{longer.folder(), 3}, {shorter.folder(), 1}});
  // 3 pairs of 30 x 10 rows to 1 of 5 x 20: 95 x 50.
  EXPECT_EQ(source_rows_for(mix.corpora, 1600), 3040);
  EXPECT_EQ(source_rows_for(open_mix(longer.folder()).corpora, 1600), 4800);
}

}  // namespace
}  // namespace weft
