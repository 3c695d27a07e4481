// tests/trainer/run/run_folder_test.cpp: older files of a run's folder, and folders that are removed during a run.
#include "trainer/run/run_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

TEST(RunFolder, KeepsTheLogOfARunWhoseCheckpointsAreGone) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "run");
  write_file_atomically(folder / "run/log.jsonl", "{\"step\":7}\n");
  const RunFolder run(folder / "run", /*fresh=*/false);
  EXPECT_EQ(read_file(folder / "run/log.jsonl.old"), "{\"step\":7}\n");
  EXPECT_FALSE(fs::exists(folder / "run/log.jsonl"));
}

std::string refusal_of_lost(const RunFolder& run) {
  return refusal_of(ErrorKind::io, [&] { run.require_own(); });
}

TEST(RunFolder, IsLostWhenItIsRemovedOrReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder / "run", moved = folder / "moved";
  RunFolder run(path, /*fresh=*/false);
  write_file_atomically(run.log(), "");
  run.note_started();
  EXPECT_EQ(refusal_of_lost(run), "");
  fs::rename(path, moved);
  EXPECT_TRUE(holds(refusal_of_lost(run), "the folder " + path + ", or a file in it, was removed or replaced"));
  const RunFolder second(path, /*fresh=*/false);
  EXPECT_NE(refusal_of_lost(run), "");
  EXPECT_EQ(refusal_of_lost(second), "");
}

TEST(RunFolder, IsLostWhenItsLogIsRemoved) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run", /*fresh=*/false);
  write_file_atomically(run.log(), "");
  run.note_started();
  fs::remove(run.log());
  EXPECT_TRUE(run.is_lost());
  write_file_atomically(run.log(), "");  // by another program
  EXPECT_TRUE(run.is_lost());
  EXPECT_NE(refusal_of_lost(run), "");
}

TEST(RunFolder, RequiresTheCheckpointsOfALogUnlessTheRunIsFresh) {
  const TemporaryFolder folder;
  RunFolder::require_checkpoints(folder.path(), /*fresh=*/false);
  write_file_atomically(folder / "log.jsonl", "{\"step\":0,\"schema\":2}\n{\"step\":12,\"loss\":2}\n");
  testing::expect_error([&] { RunFolder::require_checkpoints(folder.path(), false); }, ErrorKind::checkpoint,
                        {"lists 12 steps", "checkpoints is gone", "--train.fresh=true"});
  RunFolder::require_checkpoints(folder.path(), /*fresh=*/true);
  std::filesystem::create_directory(folder / "checkpoints");
  RunFolder::require_checkpoints(folder.path(), false);
}

}  // namespace
}  // namespace weft::testing
