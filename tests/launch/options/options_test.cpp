// tests/launch/options/options_test.cpp: the options of a subcommand.
#include "launch/options/options.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "trainer/config/run_config.h"

namespace weft {
namespace {

struct Example {
  std::string source;
  int64_t vocab_size = 8000;
  bool json = false;
  DecodeConfig decode;
  std::vector<std::string> references, files;
  Options options{"example --source FILE [FILE ...]"};

  Example() {
    options.add("source", source, "the source text");
    options.add("vocab-size", vocab_size, "entries of the vocabulary");
    options.section("decode", decode);
    options.add("json", json, "print JSON");
    options.add("reference", references, "may be given several times");
    options.positional("FILE", files, "files to read");
  }
};

std::string refusal(Example& example, const std::vector<std::string>& args) {
  return testing::message_of(ErrorKind::usage, [&] {
    example.options.parse(args);
    example.options.require("source");
  });
}

struct FieldCollectorOf {
  std::vector<Field> all;
  template <typename T>
  void add(const char* name, T& value, const char* sentence) {
    FieldCollector(all, "")(name, value, sentence);
  }
};

TEST(Options, FillsValuesListsFlagsAndPositionals) {
  Example e;
  EXPECT_TRUE(e.options.parse({"one", "--source", "a.en", "--json", "two", "--reference", "r1", "--reference=r2",
                               "--decode.beam=7", "--vocab-size", "4000"}));
  EXPECT_EQ(e.source, "a.en");
  EXPECT_EQ(e.vocab_size, 4000);
  EXPECT_TRUE(e.json);
  EXPECT_EQ(e.decode.beam, 7);
  EXPECT_EQ(e.references, (std::vector<std::string>{"r1", "r2"}));
  EXPECT_EQ(e.files, (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(e.options.given("json"));
  EXPECT_FALSE(e.options.given("decode.nbest"));
}

TEST(Options, SetsWhatWasGivenOverOtherDefaults) {
  Example e;
  EXPECT_TRUE(e.options.parse({"--source=a", "--decode.beam=7", "--reference", "r1", "one"}));
  e.source = "b";
  e.vocab_size = 4000;
  e.decode = {.beam = 2, .length_penalty = 1};
  e.options.set_given();
  EXPECT_EQ(e.source, "a");
  EXPECT_EQ(e.vocab_size, 4000);
  EXPECT_EQ(e.decode.beam, 7);
  EXPECT_EQ(e.decode.length_penalty, 1);
  EXPECT_EQ(e.references, std::vector<std::string>{"r1"});
  EXPECT_EQ(e.files, std::vector<std::string>{"one"});
}

// A job that continues compares these values with those with which it was begun.
TEST(Options, AGivenValueReplacesADescribedDefault) {
  Example e;
  e.options.describe_default("decode.beam", "checkpoint's");
  e.options.describe_default("vocab-size", "chosen by the text");
  EXPECT_TRUE(e.options.parse({"--decode.beam=7"}));
  EXPECT_EQ(e.options.values().at("decode.beam"), "7");
  EXPECT_EQ(e.options.values().at("vocab-size"), "chosen by the text");
}

TEST(Options, HelpIsAManPageWithChoicesAndDefaults) {
  Example e;
  const std::string page = e.options.help(HelpFormat::man);
  EXPECT_TRUE(page.starts_with(".SH SYNOPSIS\n.nf\nweft example \\-\\-source FILE [FILE ...]\n.fi\n")) << page;
  EXPECT_NE(page.find(".TP\n.B \\-\\-vocab\\-size\nentries of the vocabulary. Default: 8000.\n"), std::string::npos)
      << page;
  EXPECT_NE(page.find(".SS decode\n"), std::string::npos) << page;
}

TEST(Options, HelpHasAWordForEachOptionWithItsChoices) {
  Example e;
  const std::string words = e.options.help(HelpFormat::words);
  EXPECT_TRUE(words.starts_with("--source\t\tthe source text\n")) << words;
  EXPECT_NE(words.find("\n--json\ttrue false\tprint JSON\n"), std::string::npos) << words;
}

TEST(Options, HelpOfAnotherFormatIsRefused) {
  EXPECT_EQ(testing::message_of(ErrorKind::usage, [] { asked_help({"--help=html"}); }),
            "help = 'html' is not valid: give one of text, man, words");
  EXPECT_FALSE(asked_help({"train", "--", "--help"}));
}

TEST(Options, TakesEverythingAfterTwoDashesAsPositional) {
  Example e;
  EXPECT_TRUE(e.options.parse({"--source=a", "--", "--json"}));
  EXPECT_EQ(e.files, (std::vector<std::string>{"--json"}));
  EXPECT_FALSE(e.json);
}

TEST(Options, SaysWhatIsMissingOrUnknown) {
  Example missing, unknown, no_value, empty;
  EXPECT_EQ(refusal(missing, {}), "--source is missing; usage: weft example --source FILE [FILE ...]");
  EXPECT_EQ(refusal(unknown, {"--vocab_size=3"}), "unknown option '--vocab_size'; did you mean --vocab-size?");
  EXPECT_NE(refusal(no_value, {"--source"}).find("--source"), std::string::npos);
  EXPECT_EQ(refusal(empty, {"--source="}), "--source has no value; usage: weft example --source FILE [FILE ...]");
}

TEST(Options, ShowsUsageValuesAndSentencesAsHelp) {
  Example e;
  const std::string help = e.options.help();
  EXPECT_TRUE(help.starts_with("usage: weft example --source FILE [FILE ...]\n")) << help;
  EXPECT_NE(help.find("\n  --vocab-size  "), std::string::npos) << help;
  EXPECT_NE(help.find("  entries of the vocabulary [8000]\n"), std::string::npos) << help;
  EXPECT_NE(help.find("\ndecode\n  --decode.beam "), std::string::npos) << help;
  EXPECT_LT(help.find("--json"), help.find("\ndecode\n")) << help;  // what has no section comes first
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(e.options.parse({"--source", "x", "--help"}));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), help);
}

TEST(Options, ShowsCommonOptionsFirstAndHidesThoseThatAreRefused) {
  Example e;
  e.options.show_first({"decode.beam"});
  e.options.hide("json");
  const std::string help = e.options.help();
  EXPECT_NE(help.find("\ncommon options, with [defaults]\n  --decode.beam "), std::string::npos) << help;
  EXPECT_EQ(help.find("--decode.beam "), help.rfind("--decode.beam ")) << help;
  EXPECT_EQ(help.find("--json"), std::string::npos) << help;
  EXPECT_EQ(e.options.help(HelpFormat::words).find("--json"), std::string::npos);
  EXPECT_TRUE(e.options.parse({"--source", "x", "--json"}));  // the command says why it refuses it
}

TEST(Options, HelpBreaksBetweenWordsAtTheWidthOfTheTerminal) {
  int64_t n = 7;
  FieldCollectorOf fields;
  fields.add("a-name-that-is-too-long-for-its-column", n, "what the option does, in many words that need two lines");
  EXPECT_EQ(help_page({.usage = "x", .fields = fields.all}, /*columns=*/60),
            "usage: weft x\n\n  --a-name-that-is-too-long-for-its-column\n"
            "                                what the option does, in\n"
            "                                many words that need two\n"
            "                                lines [7]\n");
}

}  // namespace
}  // namespace weft
