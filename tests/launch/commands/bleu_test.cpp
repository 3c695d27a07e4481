// tests/launch/commands/bleu_test.cpp: output of `weft bleu`, and its one-line errors for bad input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "launch/commands.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/variable.h"
#include "tests/trainer/metrics/sacrebleu_cases.h"
#include "trainer/version.h"

namespace weft::testing {
namespace {

class BleuCommand : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string printed(const std::vector<std::string>& args) {
    ::testing::internal::CaptureStdout();
    const int status = run_bleu({.args = args});
    const std::string text = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, 0);
    return text;
  }
  static std::string message(const std::vector<std::string>& args) {
    return error_of([&] { run_bleu({.args = args}); }).what();
  }
  TemporaryFolder folder_;
};

TEST_F(BleuCommand, PrintsBleuAndChrfWithTheirSignatures) {
  const std::string reference = file("ref", "the cat sat on a mat .\n");
  const std::string version = std::string("version:weft-") + kVersion;
  EXPECT_EQ(printed({"--reference", reference, file("hyp", "the cat sat on the mat .\n"), "--width=4"}),
            "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|" + version +
                " = 48.8923 85.7/66.7/40.0/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 7 ref_len = 7)\n"
                "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|" +
                version + " = 71.4225\n");
}

TEST_F(BleuCommand, JsonHoldsTheScoresAndTheOptionsReachThem) {
  const auto json = nlohmann::json::parse(
      printed({"--reference", file("a", "X Y\n"), "--reference", file("b", "A B C D"), file("hyp", "a b c d\n"),
               "--json", "--lowercase", "--smooth", "floor", "--smooth-value", "0.2", "--tokenize", "none"}));
  EXPECT_NEAR(json["bleu"]["score"].get<double>(), 100, 1e-9);
  EXPECT_EQ(json["segments"], 1);
  const std::string signature = json["bleu"]["signature"];
  EXPECT_TRUE(signature.starts_with("nrefs:2|case:lc|eff:no|tok:none|smooth:floor[0.20]|")) << signature;
}

// The numbers are sacreBLEU's (sacrebleu -sl).
TEST_F(BleuCommand, ScoresEverySentenceInALineForEachMetric) {
  const std::string reference = file("ref", "the cat sat on a mat .\na b\nZwei Männer gehen.\n"),
                    hypothesis = file("hyp", "the cat sat on the mat .\na b\nzwei Männer laufen weg.\n");
  const std::string version = std::string("version:weft-") + kVersion + " = ",
                    bleu = "BLEU|nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp|" + version,
                    chrf = "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|" + version,
                    ter = "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|" + version;
  EXPECT_EQ(printed({"--reference", reference, hypothesis, "--sentence-level", "--width=4", "--metrics=bleu,chrf,ter"}),
            bleu + "48.8923 85.7/66.7/40.0/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 7 ref_len = 7)\n" +  //
                chrf + "71.4225\n" + ter + "14.2857\n" + bleu +
                "100.0000 100.0/100.0/0.0/0.0 (BP = 1.000 ratio = 1.000 hyp_len = 2 ref_len = 2)\n" +  //
                chrf + "100.0000\n" + ter + "0.0000\n" + bleu +
                "12.7033 40.0/12.5/8.3/6.2 (BP = 1.000 ratio = 1.250 hyp_len = 5 ref_len = 4)\n" +  //
                chrf + "50.6799\n" + ter + "66.6667\n");
  std::istringstream lines(printed({"--reference", reference, hypothesis, "--sentence-level", "--json"}));
  std::vector<nlohmann::json> sentences;
  for (std::string line; std::getline(lines, line);) sentences.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(sentences.size(), 3u);
  EXPECT_EQ(sentences[2]["segment"], 3);
  EXPECT_NEAR(sentences[2]["bleu"]["score"].get<double>(), 12.7033, 5e-5);
  EXPECT_NEAR(sentences[2]["chrf"]["score"].get<double>(), 50.6799, 5e-5);
}

TEST_F(BleuCommand, ScoresSentencesOfOneSystemWithoutTests) {
  const std::string path = file("ref", "a\n"), other = file("other", "a\n");
  EXPECT_EQ(message({"--reference", path, path, other, "--sentence-level"}),
            "--sentence-level scores one system: give one hypothesis file");
  EXPECT_EQ(
      message({"--reference", path, path, "--sentence-level", "--confidence"}),
      "--sentence-level cannot be combined with --confidence, --paired-bs and --paired-ar, which test whole texts");
}

TEST_F(BleuCommand, NeedsTheFilesOfTheTokenizerBeforeItReadsText) {
  const Variable variable("SACREBLEU", "/nowhere");
  EXPECT_TRUE(message({"--reference", "/nowhere/ref", "--tokenize=spm"})
                  .starts_with("BLEU's tokenizer flores101 needs the model /nowhere/models/"));
}

TEST_F(BleuCommand, UnequalLineCountsAreOneLineWithBothNumbers) {
  const std::string reference = file("ref", "a\nb\nc\n"), hypothesis = file("hyp", "a\nb");
  EXPECT_EQ(message({"--reference", reference, hypothesis}),
            hypothesis + " has 2 lines, but " + reference + " has 3: line i of both must belong to sentence i");
}

TEST_F(BleuCommand, InvalidUtf8IsNamedByFileAndLine) {
  const std::string reference = file("ref", "a\nb\xFF\n");
  EXPECT_EQ(message({"--reference", reference, file("hyp", "a\nb\n")}),
            reference + ", line 2: byte 2 (0xFF) is not valid UTF-8; use for example iconv -f LATIN1 -t UTF-8");
}

TEST_F(BleuCommand, LinesEndAtLineFeedsAlone) {
  const std::string text =
      "a b\rc d\u2028"
      "e f\n";
  EXPECT_NE(printed({"--reference", file("ref", text), file("hyp", text)}).find("= 100.0 "), std::string::npos);
}

TEST_F(BleuCommand, RefusesOptionsThatWouldDoNothing) {
  const std::string path = file("ref", "a\n");
  EXPECT_NE(message({"--reference", path, path, "--smooth-value", "0.5"}).find("--smooth floor"), std::string::npos);
  EXPECT_NE(message({path}).find("--reference is missing"), std::string::npos);
  const auto says = [&](std::vector<std::string> args, const std::string& part) {
    args.insert(args.end(), {"--reference", path, path});
    EXPECT_NE(message(args).find(part), std::string::npos) << message(args);
  };
  says({"--metrics=ter", "--tokenize=intl"}, "--tokenize needs bleu among the --metrics");
  says({"--chrf-word-order=2", "--metrics=bleu"}, "--chrf-word-order needs chrf");
  says({"--ter-no-punct"}, "--ter-no-punct needs ter");
  says({"--lowercase", "--metrics=ter"}, "--lowercase needs bleu or chrf");
  says({"--ter-asian-support", "--metrics=ter"}, "needs --ter-normalized or --ter-no-punct");
  says({"--lowercase", "--metrics=bleu,ter", "--ter-case-sensitive"}, "give only one of them");
  says({"--seed=3"}, "--seed needs --confidence, --paired-bs or --paired-ar");
  says({"--confidence-n=30"}, "--confidence-n needs --confidence");
  says({"--paired-ar-n=30"}, "--paired-ar-n needs --paired-ar");
}

TEST_F(BleuCommand, ChoosesMetricsByNameInTheGivenOrder) {
  const std::string path = file("ref", "a b c d\n");
  const std::string text = printed({"--reference", path, path, "--metrics", "ter,bleu", "--metrics=chrf,ter"});
  const size_t ter = text.find("TER|"), bleu = text.find("\nBLEU|"), chrf = text.find("\nchrF2|");
  EXPECT_EQ(ter, 0u) << text;
  EXPECT_LT(bleu, chrf) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(BleuCommand, AnUnknownMetricIsAnsweredWithTheNearest) {
  const std::string path = file("ref", "a\n");
  EXPECT_EQ(message({"--reference", path, path, "--metrics=bleu,chf"}),
            "metrics = 'bleu,chf': there is no metric 'chf'; did you mean chrf?");
  EXPECT_EQ(message({"--reference", path, "--metrics", "bleu", "chrf"}),
            "'chrf' is read as a file: write --metrics bleu,chrf or, for a file, ./chrf");
}

TEST_F(BleuCommand, SeveralSystemsStandInOneTableAndNameTheirFilesInJson) {
  const std::string reference = file("ref", "the cat sat on a mat .\n"),
                    good = file("good", "the cat sat on a mat .\n"),
                    poor = file("poor.txt", "the cat sat on the mat .\n");
  const std::string version = std::string("version:weft-") + kVersion;
  EXPECT_EQ(printed({"--reference", reference, good, poor, "--width=2"}),
            "system      BLEU   chrF2\n"
            "good      100.00  100.00\n"
            "poor.txt   48.89   71.42\n"
            "\n"
            "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|" +
                version + "\nchrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|" + version + "\n");
  const auto json = nlohmann::json::parse(printed({"--reference", reference, good, poor, "--json"}));
  EXPECT_EQ(json["segments"], 1);
  EXPECT_EQ(json["systems"][1]["name"], poor);
  EXPECT_NEAR(json["systems"][1]["bleu"]["score"].get<double>(), 48.8923, 1e-4);
  EXPECT_FALSE(json.contains("test"));
}

TEST_F(BleuCommand, ThePairedTestIsATableWithTheBaselineNamed) {
  const std::string reference = file("ref", "a b c d e\nf g h i j\n"),
                    baseline = file("base", "a b c d x\nf g h i j\n");
  const std::string text = printed({"--reference", reference, baseline, file("same", "a b c d x\nf g h i j\n"),
                                    file("poor", "x\ny\n"), "--paired-ar", "--paired-ar-n=99", "--metrics=ter"});
  EXPECT_EQ(text, "TER|nrefs:1|ar:99|seed:12345|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:weft-" +
                      std::string(kVersion) +
                      "\n"
                      "system             TER       p\n"
                      "base (baseline)   10.0\n"
                      "same              10.0  0.0100\n"
                      "poor             100.0  0.0100  *\n"
                      "\n"
                      "p: probability that chance alone makes a larger difference from the baseline base; *: p < 0.05\n"
                      "(paired approximate randomization, 99 trials, seed 12345)\n");
}

TEST_F(BleuCommand, EqualSystemsAreNeverSignificantlyDifferent) {
  const std::string text = "a b c d e\nf g h i j\n", path = file("ref", text);
  const auto json =
      nlohmann::json::parse(printed({"--reference", path, file("x", text), file("y", text), "--paired-bs", "--json"}));
  EXPECT_EQ(json["systems"][1]["bleu"]["p_value"], 1.0 / 1001);  // none of the differences exceeds 0
  EXPECT_EQ(json["systems"][1]["bleu"]["significant"], false);
  EXPECT_EQ(json["test"]["baseline"], json["systems"][0]["name"]);
}

TEST_F(BleuCommand, PairedTestsNeedTwoSystemsAndOneKind) {
  const std::string path = file("ref", "a\n"), other = file("other", "a\n");
  EXPECT_NE(message({"--reference", path, path, "--paired-bs"}).find("compares systems"), std::string::npos);
  EXPECT_NE(message({"--reference", path, path, other, "--paired-bs", "--paired-ar"})
                .find("--paired-bs and --paired-ar cannot be combined"),
            std::string::npos);
  EXPECT_NE(message({"--reference", path, path, other, "--paired-bs", "--confidence"}).find("leave out --confidence"),
            std::string::npos);
  EXPECT_NE(message({"--reference", path, path, path}).find("the hypothesis file " + path + " is given twice"),
            std::string::npos);
  EXPECT_NE(message({"--reference", path, path, "--confidence", "--confidence-n=1"})
                .find("--confidence-n is 1, but must be between 2 and 1000000"),
            std::string::npos);
  EXPECT_NE(message({"--reference", path, path, other, "--paired-ar", "--paired-ar-n=1000001"})
                .find("--paired-ar-n is 1000001, but must be between 2 and 1000000"),
            std::string::npos);
}

TEST_F(BleuCommand, EverySystemNeedsAsManyLinesAsTheReferences) {
  const std::string reference = file("ref", "a\nb\n"), good = file("good", "a\nb\n"), bad = file("bad", "a\n");
  EXPECT_EQ(message({"--reference", reference, good, bad}),
            bad + " has 1 lines, but " + reference + " has 2: line i of both must belong to sentence i");
}

TEST_F(BleuCommand, WhatCannotBeReadIsNamed) {
  const std::string reference = file("ref", "a\n"), empty = file("empty", "");
  EXPECT_EQ(message({"--reference", reference, empty}), empty + " is empty");
  EXPECT_EQ(message({"--reference", empty + "-not", reference}),
            empty + "-not cannot be opened: No such file or directory");
  EXPECT_EQ(message({"--reference", folder_.path(), reference}), folder_.path() + " is a folder");
}

TEST_F(BleuCommand, StandardInputIsOneTextOnly) {
  const std::string path = file("ref", "a\n");
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"--reference", "-"}, {"--reference", "-", "-"}, {"--reference", "-", "--reference", "-", path}})
    EXPECT_NE(message(args).find("standard input is given for several texts, but can be only one"), std::string::npos)
        << message(args);
}

TEST_F(BleuCommand, TakesLongLines) {
  const std::string text = "a b c d\n" + std::string(3 << 19, 'x') + " y\n";
  EXPECT_NE(printed({"--reference", file("ref", text), file("hyp", text)}).find(" = 100.0 "), std::string::npos);
}

TEST_F(BleuCommand, ReadsGzip) {
  // printf 'a b c d e \r\n' | gzip -n
  static constexpr unsigned char kPacked[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x4b,
                                              0x54, 0x48, 0x52, 0x48, 0x56, 0x48, 0x51, 0x48, 0x55, 0xe0, 0xe5,
                                              0x02, 0x00, 0x3f, 0x15, 0xee, 0xbb, 0x0c, 0x00, 0x00, 0x00};
  const std::string packed(reinterpret_cast<const char*>(kPacked), sizeof kPacked);
  const std::string text = printed({"--reference", file("ref", "a b c d e\n"), file("hyp.gz", packed)});
  EXPECT_NE(text.find(" = 100.0 "), std::string::npos) << text;
}

// sacreBLEU's output for three systems and 200 segments, from tests/reference/sacrebleu_significance.py.
class BleuAgainstSacrebleu : public BleuCommand {
 protected:
  static const nlohmann::json& expected() {
    static const nlohmann::json reference =
        nlohmann::json::parse(std::ifstream(WEFT_SOURCE_DIR "/tests/reference/sacrebleu_significance.json"));
    return reference;
  }
  std::string file_of(const std::string& name, const nlohmann::json& lines) {
    std::string text;
    for (const auto& line : lines) text += line.get<std::string>() + "\n";
    return file(name, text);
  }
  std::vector<std::string> arguments(const nlohmann::json& test) {
    std::vector<std::string> args = test["flags"];
    for (int r = 0; r < test["references"].get<int>(); ++r)
      args.insert(args.end(), {"--reference", file_of("ref" + std::to_string(r), expected()["references"][r])});
    args.push_back(file_of("a", expected()["a"]));
    return args;
  }
  // The words of each system's line: name, score, mean, interval, p.
  static std::string rounded(const nlohmann::json& results) {
    std::string text;
    for (const auto& result : results) {
      text += fmt::format("{:.2f}", result["score"].get<double>());
      if (!result["mean"].is_null())
        text += fmt::format(" {:.2f} ± {:.2f}", result["mean"].get<double>(), result["half_width"].get<double>());
      if (!result["p"].is_null())
        text += fmt::format(" {:.4f}{}", result["p"].get<double>(), result["p"] < 0.05 ? " *" : "");
      text += "\n";
    }
    return text;
  }
  static std::string table_without_names(const std::string& text) {
    std::istringstream lines(text);
    std::string found;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name, baseline, word, row;
      if (!(words >> name) || name.size() > 1 || name == "p:") continue;
      if (name == "a") words >> baseline;
      while (words >> word) row += (row.empty() ? "" : " ") + word;
      found += row + "\n";
    }
    return found;
  }
  void expect_paired(const std::string& flag, const std::string& key) {
    for (const auto& test : expected()["cases"]) {
      std::vector<std::string> args = arguments(test);
      args.insert(args.end(), {file_of("b", expected()["b"]), file_of("c", expected()["c"]), flag, "--width=2"});
      EXPECT_EQ(table_without_names(printed(args)), rounded(test[key])) << test["name"] << test["references"];
    }
  }
};

TEST_F(BleuAgainstSacrebleu, ConfidencePrintsTheSameLine) {
  for (const auto& test : expected()["cases"]) {
    std::vector<std::string> args = arguments(test);
    args.insert(args.end(), {"--confidence", "--width=2"});
    EXPECT_EQ(printed(args), with_our_version(test["confidence"]) + "\n");
  }
}

TEST_F(BleuAgainstSacrebleu, PairedBootstrapPrintsTheSameDigits) { expect_paired("--paired-bs", "paired_bs"); }

TEST_F(BleuAgainstSacrebleu, PairedRandomisationPrintsTheSameDigits) { expect_paired("--paired-ar", "paired_ar"); }

TEST_F(BleuAgainstSacrebleu, RandomisationWithConfidenceGivesBoth) {
  const auto& test = expected()["cases"][0];
  std::vector<std::string> args = arguments(test);
  args.insert(args.end(), {file_of("b", expected()["b"]), "--paired-ar", "--confidence", "--json"});
  const auto json = nlohmann::json::parse(printed(args));
  const auto& b = json["systems"][1]["bleu"];
  EXPECT_NEAR(b["confidence"]["half_width"].get<double>(), test["paired_bs"][1]["half_width"].get<double>(), 1e-5);
  EXPECT_DOUBLE_EQ(b["p_value"].get<double>(), test["paired_ar"][1]["p"].get<double>());
  EXPECT_TRUE(b["signature"].get<std::string>().starts_with("nrefs:1|bs:1000|ar:10000|seed:12345|case:"));
}

}  // namespace
}  // namespace weft::testing
