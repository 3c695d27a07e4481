// tests/launch/program_test.cpp: the built program as a person starts it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

struct Outcome {
  int status = -1;
  std::string text;  // stdout and stderr
};

Outcome run_weft(const std::string& arguments) {
  FILE* pipe = popen((WEFT_BINARY_DIR "/weft " + arguments + " 2>&1").c_str(), "r");
  Outcome outcome;
  std::array<char, 4096> chunk;
  while (const size_t n = fread(chunk.data(), 1, chunk.size(), pipe)) outcome.text.append(chunk.data(), n);
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

TEST(Program, ListsItsCommandsWhenAskedForHelp) {
  for (const char* arguments : {"", "help", "--help"}) {
    const Outcome o = run_weft(arguments);
    EXPECT_EQ(o.status, 0) << arguments;
    EXPECT_NE(o.text.find("\n  translate "), std::string::npos) << o.text;
  }
}

TEST(Program, SaysItsVersion) {
  const Outcome o = run_weft("--version");
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(o.text.starts_with("weft ")) << o.text;
}

TEST(Program, ExplainsEachCommand) {
  for (const char* command :
       {"pack", "train", "translate", "score", "evaluate", "bleu", "inspect", "export", "import"}) {
    const Outcome o = run_weft(std::string(command) + " --help");
    EXPECT_EQ(o.status, 0) << o.text;
    EXPECT_TRUE(o.text.starts_with(std::string("usage: weft ") + command)) << o.text;
  }
}

TEST(Program, NamesTheNearestCommand) {
  const Outcome o = run_weft("trian --config x.cfg");
  EXPECT_EQ(o.status, 2);
  EXPECT_EQ(o.text, "weft: unknown command 'trian'; did you mean 'train'?\n");
}

TEST(Program, RefusesAnUnknownKeyInOneLineAndStatusTwo) {
  const Outcome o = run_weft("train --model.widht=3");
  EXPECT_EQ(o.status, 2);
  EXPECT_EQ(o.text, "weft: unknown option '--model.widht'; did you mean --model.width?\n");
}

TEST(Program, SaysWhenItsOutputCannotBeWritten) {
  const Outcome o = run_weft("help > /dev/full");
  EXPECT_EQ(o.status, 5) << o.text;
}

}  // namespace
