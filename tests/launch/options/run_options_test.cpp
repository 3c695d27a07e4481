// tests/launch/options/run_options_test.cpp: the configuration of a run on the command line, and errors in it.
#include "launch/options/run_options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launch/options/help_format.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "trainer/config/fields.h"

namespace weft {
namespace {

std::string argument_error(const std::vector<std::string>& args) {
  return testing::message_of(ErrorKind::usage, [&] {
    RunConfig config;
    bool dry_run = false;
    read_run_config(args, config, dry_run);
  });
}

RunConfig parsed(const std::vector<std::string>& args) {
  RunConfig config;
  bool dry_run = false;
  EXPECT_TRUE(read_run_config(args, config, dry_run));
  return config;
}

TEST(RunOptions, TakesBothFormsOnTheCommandLine) {
  const RunConfig config = parsed({"--model.width=64", "--model.dropout_attention", "-1", "--train.fresh",
                                   "--model.final_norm", "true", "--model.scale_embeddings=false", "--data.valid="});
  EXPECT_EQ(config.model.width, 64);
  EXPECT_EQ(config.model.dropout_attention, -1);
  EXPECT_TRUE(config.train.fresh);
  EXPECT_TRUE(config.model.final_norm);
  EXPECT_FALSE(config.model.scale_embeddings);
  EXPECT_EQ(config.data.valid, "");
}

TEST(RunOptions, LetsTheCommandLineWinOverTheFile) {
  const TemporaryFolder folder;
  std::ofstream(folder / "run.cfg") << "[model]\nwidth = 64\nheads = 4\n";
  const RunConfig config = parsed({"--model.width=128", "--config", folder / "run.cfg"});
  EXPECT_EQ(config.model.width, 128);
  EXPECT_EQ(config.model.heads, 4);
}

TEST(RunOptions, RefusesTheConfigurationOfACopiedRun) {
  const TemporaryFolder folder;
  for (const char* run : {"original", "copy"}) {
    std::filesystem::create_directory(folder / run);
    std::ofstream(folder / run + "/config.cfg") << "[train]\noutput = " << (folder / "original") << "\n";
    std::ofstream(folder / run + "/log.jsonl") << "";
  }
  EXPECT_EQ(parsed({"--config", folder / "original/config.cfg"}).train.output, folder / "original");
  const std::string message = argument_error({"--config", folder / "copy/config.cfg"});
  EXPECT_NE(message.find("belongs to the run in " + (folder / "copy")), std::string::npos) << message;
  EXPECT_NE(message.find("add --train.output=" + (folder / "copy")), std::string::npos) << message;
  const std::string step = folder / "copy/checkpoints/step-00000001";
  std::filesystem::create_directories(step);
  std::filesystem::copy(folder / "copy/config.cfg", step + "/config.cfg");
  EXPECT_NE(argument_error({"--config", step + "/config.cfg"}).find("add --train.output=" + (folder / "copy")),
            std::string::npos);
  parsed({"--config", folder / "copy/config.cfg", "--train.output=" + (folder / "copy")});
}

TEST(RunOptions, ReadsStagesFromTheCommandLine) {
  const RunConfig config =
      parsed({"--stage.1.mix=a", "--stage.1.steps=5", "--stage.tune.mix", "b", "--stage.tune.schedule.warmup=3"});
  ASSERT_EQ(config.stages.size(), 2u);
  EXPECT_EQ(config.stages[0].steps, 5);
  EXPECT_EQ(config.stages[1].mix, "b");
  EXPECT_EQ(config.stages[1].schedule.warmup, 3);
}

TEST(RunOptions, RefusesStrayWordsAndMissingFiles) {
  EXPECT_EQ(argument_error({"model.width=3"}),
            "'model.width=3' belongs to no option; usage: weft train --config FILE [--section.key=value ...]");
  EXPECT_EQ(argument_error({"--config", "/no/such.cfg"}),
            "cannot read the configuration '/no/such.cfg': No such file or directory");
}

TEST(RunOptions, RefusesValuesThatACfgCannotHold) {
  EXPECT_NE(argument_error({"--train.output=runs/#1"}).find("train.output = 'runs/#1'"), std::string::npos);
}

TEST(RunOptions, NameTheNearestOptionOfAnUnknownOne) {
  EXPECT_EQ(argument_error({"--width=4"}), "unknown option '--width'; did you mean --model.width?");
  EXPECT_EQ(argument_error({"--qqqqqqqqqq", "4"}), "unknown option '--qqqqqqqqqq'; --help lists all options");
  EXPECT_EQ(argument_error({"--model.width=1", "--model.width=2"}), "--model.width is given twice");
}

TEST(RunOptions, NameKeyValueAndWhatIsAllowed) {
  EXPECT_EQ(argument_error({"--model.width=3x"}), "model.width = '3x' is not valid: give a whole number");
  EXPECT_EQ(argument_error({"--train.seed=-1"}), "train.seed = '-1' is not valid: give a whole number, 0 or more");
  EXPECT_EQ(argument_error({"--schedule.lr=nan"}), "schedule.lr = 'nan' is not valid: give a number");
  EXPECT_EQ(argument_error({"--train.fresh=yes"}), "train.fresh = 'yes' is not valid: give true or false");
  EXPECT_EQ(argument_error({"--model.width=99999999999999999999"}),
            "model.width = '99999999999999999999' is not valid: give a whole number");
}

TEST(RunOptions, AreExplainedUnderTheirNames) {
  RunConfig config;
  const std::string text = help_page({.fields = fields_of(config)}, /*columns=*/110);
  EXPECT_NE(text.find("\nschedule\n  --schedule.kind "), std::string::npos);
  EXPECT_NE(text.find("\n  --train.label_smoothing       "), std::string::npos) << text;
  EXPECT_NE(text.find(" [0.1]\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft
