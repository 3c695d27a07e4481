// tests/trainer/validation/validation_command_test.cpp: train.validate_command: what it gets, its number, and failures.
#include "trainer/validation/validation_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

const std::vector<SetTexts> kOneSet{
    {.set = "", .sources = {"one", "two"}, .hypotheses = {"eins", "zwo"}, .references = {"eins", "zwei"}}};
const std::vector<SetTexts> kTwoSets{{.set = "dev", .sources = {"a"}, .hypotheses = {"b"}, .references = {"c"}},
                                     {.set = "news", .sources = {"d"}, .hypotheses = {"e"}, .references = {"f"}}};

class ValidationCommandTest : public ::testing::Test {
 protected:
  ValidationCommand command(const std::string& text, std::vector<std::string> sets = {""}, double seconds = 600) const {
    return ValidationCommand(folder_ / "validation", text, seconds, std::move(sets));
  }
  static CommandScore wait_for(ValidationCommand& c) {
    for (;;) {
      if (std::optional<CommandScore> score = c.poll()) return *score;
      std::this_thread::yield();
    }
  }
  CommandScore score_of(const std::string& text, const std::vector<SetTexts>& texts = kOneSet) const {
    std::vector<std::string> sets;
    for (const SetTexts& set : texts) sets.push_back(set.set);
    ValidationCommand c = command(text, sets);
    c.add(7, texts);
    return wait_for(c);
  }
  const TemporaryFolder folder_;
};

TEST(NumberAtEnd, IsTheLastWord) {
  EXPECT_EQ(number_at_end("0.8412\n"), 0.8412);
  EXPECT_EQ(number_at_end("hyp.txt\tscore: -3e-1\n"), -0.3);
  for (const char* other : {"", "\n", "score", "1.5 %", "nan", "inf", "0x10"})
    EXPECT_EQ(number_at_end(other), std::nullopt) << other;
}

TEST_F(ValidationCommandTest, GetsTheTextsAndGivesItsNumber) {
  const CommandScore score = score_of(
      R"(paste -d' ' "$WEFT_SOURCE" "$WEFT_HYPOTHESIS" "$WEFT_REFERENCE" | tr '\n' '|'; echo " $WEFT_STEP$WEFT_SET")");
  EXPECT_EQ(score.failure, "");
  EXPECT_EQ(score.step, 7);
  EXPECT_EQ(score.scores, (std::map<std::string, double>{{"score", 7}}));
  EXPECT_EQ(score_of(R"(cat "$WEFT_SOURCE" "$WEFT_HYPOTHESIS" "$WEFT_REFERENCE" | tr '\n' ' ')").failure,
            "the output must end with a number, but ends with 'one two eins zwo eins zwei'");
}

TEST_F(ValidationCommandTest, RunsForEachSet) {
  const CommandScore score = score_of("[ $WEFT_SET = dev ] && echo 1 || echo 2", kTwoSets);
  EXPECT_EQ(score.scores, (std::map<std::string, double>{{"score", 1}, {"dev.score", 1}, {"news.score", 2}}));
}

TEST_F(ValidationCommandTest, SaysWhyThereIsNoScore) {
  EXPECT_EQ(score_of("echo first >&2; echo no model >&2; exit 3").failure, "exit status 3: no model");
  EXPECT_EQ(score_of("echo 12 points").failure, "the output must end with a number, but ends with '12 points'");
  EXPECT_EQ(score_of("true").failure, "the output must end with a number, but ends with ''");
  EXPECT_EQ(score_of("[ $WEFT_SET = dev ] && echo 1", kTwoSets).failure, "set news: exit status 1");
}

TEST_F(ValidationCommandTest, EndsWhatIsLate) {
  ValidationCommand c = command("tail -f /dev/null", {""}, /*seconds=*/1e-9);
  c.add(1, kOneSet);
  EXPECT_TRUE(holds(wait_for(c).failure, "killed after")) << "train.validate_command_minutes";
}

TEST_F(ValidationCommandTest, TakesOneValidationAfterTheOther) {
  ValidationCommand c = command("echo $WEFT_STEP");
  for (const int64_t step : {2, 4, 6}) c.add(step, kOneSet);
  for (const int64_t step : {2, 4, 6}) {
    const CommandScore score = wait_for(c);
    EXPECT_EQ(score.step, step);
    EXPECT_EQ(score.scores.at("score"), static_cast<double>(step));
  }
  EXPECT_EQ(c.poll(), std::nullopt);
}

TEST_F(ValidationCommandTest, OfAnEarlierStartNeedsItsTexts) {
  command("true").add(5, kOneSet);
  ValidationCommand c = command("wc -l < $WEFT_SOURCE");
  c.queue(5);
  EXPECT_EQ(wait_for(c).scores.at("score"), 2);
  fs::remove(folder_ / "validation/step-00000005/reference");
  c.queue(5);
  EXPECT_TRUE(holds(wait_for(c).failure, "step-00000005/reference no longer exists"));
}

TEST_F(ValidationCommandTest, CannotStartWhereTextsCannotBeWritten) {
  write_file_atomically(folder_ / "validation", "a file");
  EXPECT_NE(score_of("echo 1").failure, "");
}

TEST_F(ValidationCommandTest, DropsValidationsOfUndoneSteps) {
  ValidationCommand c = command("[ $WEFT_STEP = 4 ] && tail -f /dev/null; echo $WEFT_STEP");
  c.add(4, kOneSet);
  c.add(8, kOneSet);
  EXPECT_EQ(c.poll(), std::nullopt);
  c.drop_after(3);
  EXPECT_EQ(c.poll(), std::nullopt);
  c.add(9, kOneSet);
  EXPECT_EQ(wait_for(c).step, 9);
}

TEST_F(ValidationCommandTest, RemovesTextsThatAreNotNeeded) {
  ValidationCommand c = command("echo 1");
  for (const int64_t step : {2, 4, 6}) c.add(step, kOneSet);
  wait_for(c), wait_for(c);
  c.remove_texts_except({4});
  EXPECT_FALSE(fs::exists(folder_ / "validation/step-00000002"));
  EXPECT_TRUE(fs::exists(folder_ / "validation/step-00000004"));
  EXPECT_TRUE(fs::exists(folder_ / "validation/step-00000006")) << "it waits";
}

class FilesOfTheCommand : public ValidationCommandTest {
 protected:
  static constexpr char kWrites[] = "mkdir -p $(dirname $WEFT_SOURCE)/more; touch $WEFT_HYPOTHESIS.tmp; echo 1";
  std::set<std::string> files_of(const std::string& step) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / ("validation/" + step)))
      names.insert(entry.path().filename().string());
    return names;
  }
  const std::set<std::string> texts_{"source", "hypothesis", "reference"};
};

TEST_F(FilesOfTheCommand, AreRemovedAfterIt) {
  ValidationCommand c = command(kWrites);
  c.add(2, kOneSet);
  wait_for(c);
  EXPECT_EQ(files_of("step-00000002"), texts_);
}

TEST_F(FilesOfTheCommand, AreRemovedWhenItIsStopped) {
  ValidationCommand c = command("touch $WEFT_HYPOTHESIS.tmp; tail -f /dev/null");
  c.add(2, kOneSet);
  c.poll();
  while (files_of("step-00000002") == texts_) std::this_thread::yield();
  c.stop();
  EXPECT_EQ(files_of("step-00000002"), texts_);
}

TEST_F(FilesOfTheCommand, AreRemovedBesideTextsThatAStartKeeps) {
  command(kWrites).add(2, kOneSet);
  write_file_atomically(folder_ / "validation/step-00000002/hypothesis.tmp", "of a killed start");
  write_file_atomically(folder_ / "validation/notes", "of the user");
  ValidationCommand c = command(kWrites);
  c.queue(2);
  c.remove_texts_except({});
  EXPECT_EQ(files_of("step-00000002"), texts_);
  EXPECT_TRUE(fs::exists(folder_ / "validation/notes"));
}

}  // namespace
}  // namespace weft::testing
