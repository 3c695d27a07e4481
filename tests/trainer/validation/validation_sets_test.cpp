// tests/trainer/validation/validation_sets_test.cpp: what data.valid and train.keep_best may say, and what is refused.
#include "trainer/validation/validation_sets.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

std::string refused(const std::string& option) {
  return refusal_of(ErrorKind::usage, [&] { parse_validation_sets(option); });
}

std::string refused_rule(const std::string& option, const std::string& valid) {
  return refusal_of(ErrorKind::usage, [&] { BestRule(option, parse_validation_sets(valid)); });
}

BestRule::Numbers in(const std::map<std::string, double>& numbers) {
  return [&numbers](const std::string& key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(ValidationSets, AFolderAloneHasNoName) {
  for (const char* folder : {"packed/dev", "dev", "./a=b", "packed/a,b", "7=x"}) {
    const std::vector<ValidationSet> sets = parse_validation_sets(folder);
    ASSERT_EQ(sets.size(), 1u) << folder;
    EXPECT_EQ(sets[0].name, "");
    EXPECT_EQ(sets[0].folder, folder);
  }
  EXPECT_TRUE(parse_validation_sets("").empty());
}

TEST(ValidationSets, KeepNamesInTheOrderGiven) {
  const std::vector<ValidationSet> sets = parse_validation_sets("news=packed/news=2024,dev-2=packed/dev");
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].name, "news");
  EXPECT_EQ(sets[0].folder, "packed/news=2024");
  EXPECT_EQ(sets[1].name, "dev-2");
}

TEST(ValidationSets, MayBeNoisyCopies) {
  const std::vector<ValidationSet> sets = parse_validation_sets("dev=a/b,caps=a/b:upper,typos=a:b/c/:typos,plain=a:b/");
  EXPECT_EQ(sets[0].noise, TextNoise::none);
  EXPECT_EQ(sets[1].noise, TextNoise::upper);
  EXPECT_EQ(sets[1].folder, "a/b");
  EXPECT_EQ(sets[2].noise, TextNoise::typos);
  EXPECT_EQ(sets[2].folder, "a:b/c/");
  EXPECT_EQ(sets[3].folder, "a:b/");
  EXPECT_TRUE(
      holds(refused("dev=a:shout"),
            "the set dev has an unknown noise 'shout'; give none, upper, title, lower, typos, punctuation, words"));
  EXPECT_TRUE(holds(refused("dev=:upper"), "the set dev has no folder"));
}

TEST(ValidationSets, MayHaveBlanksBetweenThemAndColonsInTheirFolders) {
  EXPECT_EQ(parse_validation_sets("dev=a, news=b").at(1).name, "news");
  EXPECT_EQ(parse_validation_sets("packed/v:upper/").at(0).folder, "packed/v:upper/");
  EXPECT_EQ(parse_validation_sets("packed/v:2").at(0).folder, "packed/v:2");
}

TEST(ValidationSets, RefuseWhatHasNoNameOrFolder) {
  EXPECT_TRUE(holds(refused("dev=a,b"), "data.valid = dev=a,b: 'b' must be NAME=FOLDER"));
  EXPECT_TRUE(holds(refused("dev=a,2=b"), "'2=b' must be NAME=FOLDER"));
  EXPECT_TRUE(holds(refused("dev=a,"), "'' must be NAME=FOLDER"));
  EXPECT_TRUE(holds(refused("dev=a,news="), "the set news has no folder"));
  EXPECT_TRUE(holds(refused("dev=a,dev=b"), "the name dev is given twice"));
  EXPECT_EQ(refused("packed/v:upper"),
            "data.valid = packed/v:upper: only a set with a name can have noise; give NAME=packed/v:upper (or, if the "
            "folder's name contains a :, write / after it)");
}

TEST(ValidationKey, HasTheNameOfTheSet) {
  EXPECT_EQ(validation_key("", "valid_loss"), "valid_loss");
  EXPECT_EQ(validation_key("dev", "valid_loss"), "dev.loss");
  EXPECT_EQ(validation_key("dev", "bleu"), "dev.bleu");
}

TEST(BestRule, OfOneSetIsItsNumber) {
  const std::map<std::string, double> numbers{{"valid_loss", 2.5}, {"bleu", 30}, {"chrf", 55}};
  EXPECT_EQ(BestRule("bleu", parse_validation_sets("dev")).value(in(numbers)), 30);
  EXPECT_EQ(BestRule("chrf", parse_validation_sets("dev")).value(in(numbers)), 55);
  EXPECT_EQ(BestRule("loss", parse_validation_sets("dev")).value(in(numbers)), -2.5);
  EXPECT_EQ(BestRule("loss", {}).text(), "loss");
}

TEST(BestRule, WithoutANameIsOfTheFirstSet) {
  const auto sets = parse_validation_sets("dev=a,news=b");
  EXPECT_EQ(BestRule("bleu", sets).text(), "dev.bleu");
  EXPECT_EQ(BestRule("bleu", sets).value(in({{"bleu", 1}, {"dev.bleu", 2}, {"news.bleu", 3}})), 2);
}

TEST(BestRule, AddsNumbersWithTheirFactors) {
  const std::map<std::string, double> numbers{{"dev.bleu", 30}, {"news.bleu", 20}, {"news.loss", 2}};
  const BestRule rule("0.75 * dev.bleu + 0.25*news.bleu", parse_validation_sets("dev=a,news=b"));
  EXPECT_EQ(rule.text(), "0.75*dev.bleu+0.25*news.bleu");
  EXPECT_EQ(rule.value(in(numbers)), 27.5);
  EXPECT_EQ(BestRule("dev.bleu+4*news.loss", parse_validation_sets("dev=a,news=b")).value(in(numbers)), 22);
}

TEST(BestRule, IsReadBackFromItsText) {
  const BestRule rule("0.5*dev.bleu+1e16*news.loss", parse_validation_sets("dev=a,news=b"));
  ASSERT_TRUE(BestRule::read(rule.text()).has_value());
  EXPECT_EQ(BestRule::read(rule.text())->text(), rule.text());
}

TEST(BestRule, HasNoValueIfANumberIsMissing) {
  const BestRule rule("dev.bleu+news.bleu", parse_validation_sets("dev=a,news=b"));
  EXPECT_EQ(rule.value(in({{"dev.bleu", 30}})), std::nullopt);
}

TEST(BestRule, KnowsWhetherItNeedsTranslations) {
  EXPECT_FALSE(BestRule("loss", {}).needs_translations());
  EXPECT_TRUE(BestRule("loss+chrf", {}).needs_translations());
}

TEST(BestRule, OfAScoreMayPreferLowerOnes) {
  const BestRule rule("dev.bleu+-2*dev.score", parse_validation_sets("dev=a"));
  EXPECT_TRUE(rule.needs_score());
  EXPECT_TRUE(rule.needs_translations());
  EXPECT_EQ(rule.text(), "dev.bleu+-2*dev.score");
  EXPECT_EQ(rule.value(in({{"dev.bleu", 30}, {"dev.score", 4}})), 22);
  EXPECT_FALSE(BestRule("bleu", {}).needs_score());
}

TEST(BestRule, RefusesWhatIsNoNumberOfASet) {
  EXPECT_TRUE(holds(refused_rule("blue", "dev"), "train.keep_best = blue: 'blue' is not a validation metric"));
  EXPECT_TRUE(holds(refused_rule("", "dev"), "'' is not a validation metric"));
  EXPECT_TRUE(holds(refused_rule("bleu+", "dev"), "'' is not a validation metric"));
  EXPECT_TRUE(holds(refused_rule(".bleu", "dev=a"), "'.bleu' is not a validation metric"));
  EXPECT_TRUE(holds(refused_rule("-1*bleu", "dev"), "the factor '-1' must be a number above 0"));
  EXPECT_TRUE(holds(refused_rule("0*bleu", "dev"), "the factor '0' must be a number above 0"));
  EXPECT_TRUE(holds(refused_rule("x*bleu", "dev"), "the factor 'x' must be a number above 0"));
  EXPECT_TRUE(holds(refused_rule("test.bleu", "dev=a,news=b"),
                    "there is no validation set test; data.valid contains dev, "
                    "news"));
  EXPECT_TRUE(holds(refused_rule("test.bleu", "dev"), "data.valid contains no named sets"));
}

TEST(BestRule, IsReadAgainFromItsText) {
  const std::string text = BestRule("0.1*dev.bleu+news.chrf", parse_validation_sets("dev=a,news=b")).text();
  EXPECT_EQ(BestRule::read(text)->text(), text);
  EXPECT_FALSE(BestRule::read("something else"));
}

}  // namespace
}  // namespace weft::testing
