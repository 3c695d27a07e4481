// tests/launch/commands/program_test.cpp: the built program, started as a process.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace {

struct Outcome {
  int status = -1;
  std::string text;  // stdout and stderr
};

Outcome run_weft(const std::string& arguments, const std::string& before = "") {
  FILE* pipe = popen((before + WEFT_BINARY_DIR "/weft " + arguments + " 2>&1").c_str(), "r");
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
  for (const char* command : {"pack", "train", "launch", "translate", "score", "evaluate", "bleu", "inspect",
                              "inspect model", "watch", "verify", "bench", "plan", "average", "export", "import"}) {
    const Outcome o = run_weft(std::string(command) + " --help");
    EXPECT_EQ(o.status, 0) << o.text;
    EXPECT_TRUE(o.text.starts_with(std::string("usage: weft ") + command)) << o.text;
  }
}

TEST(Program, ExplainsACommandLikeGit) {
  EXPECT_EQ(run_weft("help plan").text, run_weft("plan --help").text);
  EXPECT_EQ(run_weft("help inspect model").text, run_weft("inspect model --help").text);
}

TEST(Program, WatchesOnlyRuns) {
  const Outcome o = run_weft("watch /dev");
  EXPECT_EQ(o.status, 2) << o.text;
  EXPECT_EQ(o.text, "weft: /dev is not the folder of a run: it has no config.cfg\n");
  const weft::testing::TemporaryFolder folder;
  const std::string checkpoint = folder / "step-00000003";
  std::filesystem::create_directory(checkpoint);
  std::ofstream(checkpoint + "/MANIFEST.json") << "{}";
  EXPECT_EQ(run_weft("watch " + checkpoint).text,
            "weft: " + checkpoint + " is a checkpoint: give the folder of its run\n");
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

TEST(Program, DescribesTheSearchsDefaultsAsTheCheckpoints) {
  for (const char* command : {"translate", "evaluate"}) {
    const std::string help = run_weft(std::string(command) + " --help").text;
    EXPECT_NE(help.find("1 = greedy [checkpoint's]"), std::string::npos) << help;
    EXPECT_NE(help.find("0 = none [checkpoint's]"), std::string::npos) << help;
  }
}

TEST(Program, IsNotStartedTwiceForOneProcessWork) {
  for (const char* launched :
       {"OMPI_COMM_WORLD_SIZE=2", "PMI_SIZE=2", "PMIX_RANK=0 SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NUM_TASKS=2"}) {
    const Outcome o = run_weft("inspect nothing", std::string("env ") + launched + " ");
    EXPECT_EQ(o.status, 2) << o.text;
    EXPECT_EQ(o.text, "weft: `weft inspect` runs in one process, but 2 were started: run it without mpirun or srun\n");
  }
}

TEST(Program, IsNotStartedForOneProcessWorkByALauncherThatDoesNotSayHowOften) {
  const Outcome o = run_weft("inspect nothing", "env PMIX_RANK=0 ");
  EXPECT_EQ(o.status, 2) << o.text;
  EXPECT_EQ(
      o.text,
      "weft: `weft inspect` runs in one process, but several may have been started: run it without mpirun or srun\n");
}

TEST(Program, DoesNotStartMpiAlone) {                        // nor in a batch script, nor as the only task of srun
  const std::string no_mpi = "env OMPI_MCA_pml=none_such ";  // MPI_Init fails with this
  for (const std::string& before :
       {no_mpi, no_mpi + "SLURM_PROCID=0 SLURM_NTASKS=2 ", no_mpi + "SLURM_STEP_NUM_TASKS=1 "}) {
    const Outcome o = run_weft("translate --checkpoint nowhere", before);
    EXPECT_EQ(o.status, 4) << o.text;
    EXPECT_EQ(o.text, "weft: nowhere is not a checkpoint: there is no such folder\n");
  }
}

TEST(Program, SaysWhenALongOutputCannotBeWritten) {  // longer than a buffer, so that printing itself fails
  for (const char* sink : {"> /dev/full", ">&-"}) {
    FILE* pipe = popen((std::string(WEFT_BINARY_DIR "/weft train --help 2>&1 ") + sink).c_str(), "r");
    std::array<char, 4096> chunk;
    const std::string text(chunk.data(), fread(chunk.data(), 1, chunk.size(), pipe));
    EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 5) << sink;
    EXPECT_EQ(text, "weft: standard output is closed, or its disk is full\n") << sink;
  }
}

TEST(Program, SaysWhenItsOutputCannotBeWritten) {
  const Outcome o = run_weft("help > /dev/full");
  EXPECT_EQ(o.status, 5) << o.text;
}

}  // namespace
