// Tests of trainer/chrf.h: sacreBLEU's scores and printed lines, sums over parts.
#include "trainer/chrf.h"

#include <gtest/gtest.h>

#include <map>

#include "tensor/error.h"
#include "tests/trainer/sacrebleu_cases.h"

namespace weft {
namespace {

const std::map<std::string, ChrfOptions> kOptions = {
    {"chrF2", {}},
    {"chrF2++", {.word_order = 2}},
    {"chrF2++ lower case", {.word_order = 2, .lower_case = true}},
};

TEST(Chrf, EqualsSacrebleuOnEveryCaseAndOption) {
  const auto& cases = sacrebleu_cases()["cases"];
  ASSERT_GE(cases.size(), 40u);
  for (const auto& c : cases) {
    for (const auto& [name, options] : kOptions) {
      const ChrfScore score = chrf(c["hypotheses"], c["references"], options);
      const auto& expected = c["scores"][name];
      EXPECT_NEAR(score.score, expected[0].get<double>(), 1e-9) << c["name"] << ", " << name;
      EXPECT_TRUE(format(score).ends_with(" = " + expected[1].get<std::string>()))
          << c["name"] << ", " << name << ": " << format(score) << ", not " << expected[1];
    }
  }
}

TEST(Chrf, SignatureHasSacrebleusFieldsAndOurName) {
  for (const auto& [name, options] : kOptions) {
    const std::string line = format(chrf({"a"}, {{"a"}, {"b"}}, options));
    EXPECT_EQ(line.substr(0, line.find(" = ")), with_our_version(sacrebleu_cases()["signatures"][name]));
  }
}

TEST(Chrf, StatsOfPartsAddUpToTheWhole) {
  const std::vector<std::string> hypotheses = {"ein Hund", "", "(zwei) Katzen!"};
  const std::vector<std::string> reference = {"ein Huhn", "x", "(zwei) Kater!"};
  const ChrfOptions options{.word_order = 2};
  ChrfStats sum;
  for (size_t i = 0; i < hypotheses.size(); ++i) sum += chrf_stats(hypotheses[i], {reference[i]}, options);
  EXPECT_EQ(chrf_from_stats(sum, 1, options).score, chrf(hypotheses, {reference}, options).score);
}

TEST(Chrf, RefusesReferencesOfAnotherLength) { EXPECT_THROW(chrf({"a", "b"}, {{"a"}}), Error); }

}  // namespace
}  // namespace weft
