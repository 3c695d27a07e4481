// Tests of launch/bleu.cpp: what `weft bleu` prints, and the one line it says about bad input.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "launch/commands.h"
#include "tensor/error.h"
#include "trainer/version.h"

namespace weft {
namespace {

class BleuCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-bleu-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string printed(const std::vector<std::string>& args) {
    testing::internal::CaptureStdout();
    const int status = run_bleu({.args = args});
    const std::string text = testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, 0);
    return text;
  }
  static std::string message(const std::vector<std::string>& args) {
    try {
      run_bleu({.args = args});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string folder_;
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

TEST_F(BleuCommand, UnequalLineCountsAreOneLineWithBothNumbers) {
  const std::string reference = file("ref", "a\nb\nc\n"), hypothesis = file("hyp", "a\nb");
  EXPECT_EQ(message({"--reference", reference, hypothesis}),
            hypothesis + " has 2 lines, " + reference + " has 3: each needs one line for the same sentence");
}

TEST_F(BleuCommand, InvalidUtf8IsNamedByFileAndLine) {
  const std::string reference = file("ref", "a\nb\xFF\n");
  EXPECT_EQ(message({"--reference", reference, file("hyp", "a\nb\n")}),
            reference + ":2: byte 2 is not UTF-8; convert the file with iconv");
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
  EXPECT_NE(message({"--reference", path, path, path}).find("one hypothesis"), std::string::npos);
}

}  // namespace
}  // namespace weft
