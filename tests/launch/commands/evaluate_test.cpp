// tests/launch/commands/evaluate_test.cpp: errors of `weft evaluate` before any work.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "parallel/communicator.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

class Evaluate : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& file : {source_, reference_}) write_file_atomically(file, "text\n");
  }
  std::string refusal(const std::string& output, const std::string& name, int ranks = 1) const {
    std::string message;
    run_thread_ranks(ranks, [&](Communicator& world) {
      const std::string own = message_of(ErrorKind::usage, [&] {
        run_evaluate({.args = {"--checkpoint", folder_ / "none", "--source", source_, "--reference", reference_,
                               "--name", name, "--output", output},
                      .world = &world});
      });
      if (world.rank() == 0) message = own;
    });
    return message;
  }

  const TemporaryFolder folder_;
  const std::string source_ = folder_ / "held-out.txt", reference_ = folder_ / "right.txt";
};

TEST_F(Evaluate, RefusesToReplaceTheTextsItReads) {
  const std::string output = folder_ / "../" + std::filesystem::path(folder_.path()).filename().string();
  for (const int ranks : {1, 2})
    EXPECT_TRUE(refusal(output, "right", ranks)
                    .ends_with("--output " + output + " would overwrite --reference " + reference_ +
                               ": give a different folder, or a different --name for the set"))
        << ranks;
  EXPECT_NE(refusal(folder_.path(), "held-out").find("would overwrite --source"), std::string::npos);
  EXPECT_EQ(read_file(reference_), "text\n");
}

}  // namespace
}  // namespace weft::testing
