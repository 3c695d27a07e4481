// tests/launch/commands/inspect_test.cpp: `weft inspect` and `weft inspect model`.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

std::string inspect(std::vector<std::string> args) {
  args.insert(args.begin(), "inspect");
  ::testing::internal::CaptureStdout();
  try {
    const auto [command, context] = find_command(args);
    command.run(context);
  } catch (...) {
    ::testing::internal::GetCapturedStdout();
    throw;
  }
  return ::testing::internal::GetCapturedStdout();
}

std::string refusal(const std::vector<std::string>& args) {
  return error_of([&] { inspect(args); }).what();
}

const std::string kTiny = WEFT_SOURCE_DIR "/configs/tiny.cfg";

std::string line_with(const std::string& text, const std::string& what) {  // spaces as one; "" if there is none
  const size_t at = text.find(what);
  if (at == std::string::npos) return "";
  const size_t begin = text.rfind('\n', at) + 1;
  return std::regex_replace(text.substr(begin, text.find('\n', at) - begin), std::regex(" +"), " ");
}

TEST(Inspect, RefusesAnOptionThatDoesNotFitThePath) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "run/checkpoints");
  std::filesystem::create_directories(folder / "step-00000001");
  std::filesystem::create_directories(folder / "corpus");
  for (const char* file : {"run/log.jsonl", "corpus/manifest.json", "corpus/shard-00000.h5"})
    write_file_atomically(folder / file, "");
  const std::string corpus = folder / "corpus", shard = corpus + "/shard-00000.h5", run = folder / "run",
                    checkpoint = folder / "step-00000001";
  const auto refused = [](const std::string& option, const std::string& path, const std::string& is) {
    EXPECT_EQ(refusal({path, "--" + option + (option == "chart" ? "" : "=1")}),
              "--" + option + " does not apply to " + path + ", which is " + is);
  };
  refused("chart", corpus, "a packed corpus");
  refused("vocabulary", corpus + "/manifest.json", "a packed corpus");
  refused("chart", shard, "a shard");
  refused("pairs", kTiny, "a configuration");
  refused("vocabulary", run, "a run");
  for (const char* option : {"pairs", "vocabulary", "chart", "html"}) refused(option, checkpoint, "a checkpoint");
}

TEST(Inspect, ShowsNothingIfAnOptionDoesNotFitOneOfThePaths) {
  ::testing::internal::CaptureStdout();
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "step-00000001");
  EXPECT_THROW(run_inspect({.args = {kTiny, folder / "step-00000001", "--vocabulary=300"}}), Error);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

// A run with two steps in a mix of two stages.
std::string make_run(const TemporaryFolder& folder, const std::string& name) {
  std::filesystem::create_directories(folder / name);
  write_file_atomically(
      folder / (name + "/log.jsonl"),
      "{\"step\":1,\"loss\":2,\"lr\":0.5,\"seconds\":2,\"target_tokens\":1000,\"stage\":\"all\"}\n"
      "{\"step\":2,\"loss\":1,\"lr\":0.25,\"seconds\":2,\"target_tokens\":3000,\"stage\":\"tune\","
      "\"epochs\":{\"packed/a\":0,\"packed/b\":4},\"corpus_nll\":{\"packed/a\":2.5,\"packed/b\":null}}\n");
  return folder / name;
}

TEST(Inspect, WritesAnEventFileOfEachRun) {
  const TemporaryFolder folder;
  inspect({make_run(folder, "x/run"), make_run(folder, "y/run"), "--tensorboard", folder / "events"});
  for (const char* run : {"x", "y"})
    EXPECT_FALSE(std::filesystem::is_empty(folder / (std::string("events/") + run + "/run"))) << run;
}

TEST(Inspect, WritesOnePageOfSeveralRuns) {
  const TemporaryFolder folder;
  inspect({make_run(folder, "a"), make_run(folder, "b") + "/", "--html", folder / "page.html"});
  EXPECT_NE(read_file(folder / "page.html").find("<title>a, b</title>"), std::string::npos);
  EXPECT_EQ(refusal({folder / "a", folder / "b", folder / "./a", "--html", folder / "page.html"}),
            folder / "a" + " is given twice");
}

TEST(Inspect, ReplacesAPageButNoOtherFile) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "run"), log = read_file(run + "/log.jsonl");
  EXPECT_NE(refusal({run, "--html", run + "/log.jsonl"}).find("give a different name"), std::string::npos);
  EXPECT_NE(refusal({run, "--html", run}).find("is a folder"), std::string::npos);
  EXPECT_NE(refusal({run, "--html", ""}).find("--html has no value"), std::string::npos);
  for (int again = 0; again < 2; ++again) inspect({run, "--html", folder / "out"});
  EXPECT_EQ(read_file(run + "/log.jsonl"), log);
}

TEST(Inspect, LeavesTheEventFileOfARunToItsTraining) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "run");
  inspect({run, "--tensorboard", run + "/tensorboard"});  // it has none yet
  for (const std::string& shown : {run, make_run(folder, "other")})
    EXPECT_NE(refusal({shown, "--tensorboard", run + "/tensorboard/"})
                  .find("is used by the run itself: give a different folder"),
              std::string::npos)
        << shown;
}

TEST(Inspect, ShowsStagesAndCorpora) {
  const TemporaryFolder folder;
  const std::string text = inspect({make_run(folder, "run")});
  EXPECT_NE(text.find("\nstages\n  step 1         all\n  step 2         tune\n"), std::string::npos) << text;
  EXPECT_EQ(line_with(text, "packed/a"), " packed/a epoch 0 nll 2.5");
  EXPECT_EQ(line_with(text, "packed/b"), " packed/b epoch 4");
}

TEST(Inspect, SaysThatTheCheckpointOfALinkIsGone) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "run");
  std::filesystem::create_directories(run + "/checkpoints");
  std::filesystem::create_symlink("step-00000009", run + "/checkpoints/latest");
  EXPECT_NE(inspect({run}).find("latest checkpoint step-00000009 (missing), best none"), std::string::npos);
}

TEST(Inspect, DrawsAnyNumbersOfTheLog) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "run"), shown = inspect({run});
  const std::string text = inspect({run, "--chart", "--curve", "lr, target_tokens_per_second", "--over", "tokens"});
  ASSERT_TRUE(text.starts_with(shown));
  const std::string chart = text.substr(shown.size());
  for (const char* part : {"lr", "target_tokens_per_second", "target tokens", "4000"})
    EXPECT_NE(chart.find(part), std::string::npos) << part << chart;
  EXPECT_EQ(chart.find("loss"), std::string::npos) << chart;
  EXPECT_NE(inspect({run, "--chart", "--curve", "corpus_nll.packed/a"}).find("corpus_nll.packed/a"), std::string::npos);
}

TEST(Inspect, RefusesCurvesThatTheLogsDoNotHave) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "run");
  EXPECT_EQ(refusal({run, "--chart", "--curve", "rl"}),
            "--curve rl is not in the log, which contains only the values corpus_nll.packed/a, epochs.packed/a, "
            "epochs.packed/b, loss, lr, seconds, target_tokens, target_tokens_per_second");
  EXPECT_NE(refusal({run, "--chart", "--curve", "loss,lr,seconds"}).find("at most two curves"), std::string::npos);
  for (const char* option : {"--curve=lr", "--over=hours"})
    EXPECT_NE(refusal({run, option}).find("needs --chart"), std::string::npos) << option;
}

TEST(Inspect, RefusesAPageOfWhatIsNoRun) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "empty");
  write_file_atomically(folder / "empty/log.jsonl", "");
  EXPECT_EQ(refusal({folder / "none", "--html", folder / "page.html"}),
            folder / "none" + ": there is no such file or folder");
  EXPECT_EQ(refusal({folder / "empty", "--html", folder / "page.html"}),
            "the log of " + (folder / "empty") + " has no step yet, so there is nothing to show");
  EXPECT_EQ(refusal({kTiny, "--html", folder / "page.html"}),
            "--html does not apply to " + kTiny + ", which is a configuration");
  EXPECT_FALSE(std::filesystem::exists(folder / "page.html"));
}

TEST(InspectModel, IsWhatInspectShowsOfAConfiguration) {
  EXPECT_EQ(inspect({"model", kTiny, "--vocabulary", "300"}), inspect({kTiny, "--vocabulary", "300"}));
}

TEST(InspectModel, CountsParametersWithAndWithoutVocabularyTables) {
  const std::string text = inspect({"model", kTiny, "--vocabulary", "300"});
  EXPECT_EQ(line_with(text, "total parameters"), "total parameters 186,880");
  EXPECT_EQ(line_with(text, "without vocabulary tables"), "without vocabulary tables 167,680");  // 300 x 64 less
}

TEST(InspectModel, ShowsWhatEachTensorParallelRankHolds) {
  const std::string text = inspect({"model", kTiny, "--vocabulary", "301", "--tp", "2"});
  EXPECT_EQ(line_with(text, "[301, 64]"),
            " weight [301, 64] [151, 64] 19,264");  // the second rank's last row is padding
  EXPECT_EQ(line_with(text, "[3, 4, 16, 64]"), " weight [3, 4, 16, 64] [3, 2, 16, 64] 12,288");
  EXPECT_EQ(line_with(text, "[64, 128]"), " weight [64, 128] [64, 64] 8,192");
  EXPECT_EQ(inspect({"model", kTiny, "--vocabulary", "301"}).find("ranks"), std::string::npos);
}

TEST(InspectModel, ShowsOperationsOfATokenAtTheLengthThatIsAsked) {
  const std::string base = WEFT_SOURCE_DIR "/configs/base.cfg";
  const std::string text = inspect({"model", base, "--vocabulary", "8000", "--length", "24"});
  EXPECT_NE(text.find("sentences of 24 tokens"), std::string::npos);
  EXPECT_EQ(line_with(text, "per pair of tokens"), " per pair of tokens 97.02M 291.05M");
}

TEST(InspectModel, CountsTheMomentsThatTheOptimizerKeeps) {
  const TemporaryFolder folder;
  const auto moments_of = [&](const char* kind) {
    const std::string model = "[model]\nwidth = 64\nheads = 2\nsource_vocabulary = 300\ntarget_vocabulary = 300\n";
    write_file_atomically(folder / "a.cfg", model + "[optimizer]\nkind = " + kind + "\n");
    const std::string line = line_with(inspect({"model", folder / "a.cfg"}), "moments");
    return line.substr(line.find("moments"));
  };
  EXPECT_EQ(moments_of("adam"), "moments 28.0 MiB");
  EXPECT_EQ(moments_of("muon"), "moments 14.2 MiB") << "matrices have no second one";
}

TEST(InspectModel, RefusesWhatCannotBeBuilt) {
  EXPECT_NE(refusal({"model"}).find("PATH is missing"), std::string::npos);
  EXPECT_NE(refusal({"model", "none.cfg"}).find("none.cfg: there is no such file"), std::string::npos);
  EXPECT_NE(refusal({"model", kTiny, "--vocabulary", "300", "--tp", "3"}).find("parallel.tp = 3"), std::string::npos);
  EXPECT_NE(refusal({"model", kTiny, "--vocabulary", "300", "--tp", "0"}).find("--tp is 0, but must be between 1 and "),
            std::string::npos);
  EXPECT_NE(
      refusal({"model", kTiny, "--vocabulary", "300", "--length", "0"}).find("--length must be at least 1, but is 0"),
      std::string::npos);
}

TEST(InspectModel, RefusesAVocabularyWhereItIsKnown) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.cfg", "[model]\nsource_vocabulary = 300\ntarget_vocabulary = 300\n");
  EXPECT_NE(refusal({"model", folder / "a.cfg", "--vocabulary", "300"})
                .find("has no effect, because the vocabulary sizes are known (300 and 300): leave it out"),
            std::string::npos);
}

TEST(InspectModel, DoesNotPrintTheBytesOfAFileThatIsNoText) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.safetensors", std::string("\x40\0\0\0{\"a\":[0,1]}", 15));
  EXPECT_EQ(refusal({"model", folder / "a.safetensors"}),
            folder / "a.safetensors" + " is not a configuration file: a .cfg is UTF-8 text of at most 1 MiB");
  write_file_atomically(folder / "a.json", std::string(5000, 'x'));
  EXPECT_LT(refusal({"model", folder / "a.json"}).size(), 400u);
}

}  // namespace
}  // namespace weft::testing
