// tests/launch/options/launch_options_test.cpp: the launcher's options end where the command begins.
#include "launch/options/launch_options.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft {
namespace {

std::string refusal_of_launch(const std::vector<std::string>& args) {
  LaunchOptions o;
  return testing::message_of(ErrorKind::usage, [&] { parse_launch_options(args, o); });
}

TEST(LaunchOptions, SplitsTheLineAtTheCommand) {
  LaunchOptions o;
  EXPECT_TRUE(parse_launch_options(
      {"-n", "4", "--hosts=a:4", "--restarts", "3", "train", "--config", "x.cfg", "--dry-run", "-n"}, o));
  EXPECT_EQ(o.ranks, 4);
  EXPECT_EQ(o.hosts, "a:4");
  EXPECT_EQ(o.restarts, 3);
  EXPECT_FALSE(o.dry_run);
  EXPECT_EQ(o.command, "train");
  EXPECT_EQ(o.args, (std::vector<std::string>{"--config", "x.cfg", "--dry-run", "-n"}));
}

TEST(LaunchOptions, TakesTheNumberOfRanksAsMpirunDoes) {
  for (const char* ranks : {"-n4", "-n=4", "--ranks=4"}) {
    LaunchOptions o;
    EXPECT_TRUE(parse_launch_options({ranks, "train", "--config", "x.cfg", "-n5"}, o)) << ranks;
    EXPECT_EQ(o.ranks, 4) << ranks;
    EXPECT_EQ(o.args, (std::vector<std::string>{"--config", "x.cfg", "-n5"})) << ranks;
  }
}

TEST(LaunchOptions, KnowsThatAFlagHasNoValue) {
  LaunchOptions o;
  EXPECT_TRUE(parse_launch_options({"--dry-run", "score", "--quiet"}, o));
  EXPECT_TRUE(o.dry_run);
  EXPECT_EQ(o.command, "score");
}

TEST(LaunchOptions, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(refusal_of_launch({"-n", "4"}), "COMMAND is missing; usage: weft launch -n N train ...");
  EXPECT_EQ(refusal_of_launch({"-n", "0", "train"}), "--ranks must be at least 1, but is 0");
  EXPECT_EQ(refusal_of_launch({"-nx", "train"}), "ranks = 'x' is not valid: give a whole number");
  EXPECT_EQ(refusal_of_launch({"-n", "-4", "train"}), "--ranks must be at least 1, but is -4");
  EXPECT_EQ(refusal_of_launch({"--restarts", "-1", "train"}), "--restarts must be at least 0, but is -1");
  EXPECT_EQ(refusal_of_launch({"--restarts", "1", "translate"}),
            "--restarts applies only to train, because translate cannot resume");
  EXPECT_EQ(refusal_of_launch({"--host", "a", "train"}), "unknown option '--host'; did you mean --hosts?");
}

}  // namespace
}  // namespace weft
