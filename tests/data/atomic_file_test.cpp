// tests/data/atomic_file_test.cpp: files appear whole or not at all.
#include "data/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/data/pack_fixture.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::names_in;
using testing::TemporaryFolder;

TEST(AtomicFile, IsNotSeenBeforeCommit) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  file.write("text");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  file.commit();
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
  EXPECT_EQ(read_file(folder / "a"), "text");
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  { AtomicFile(folder / "a").write("half"); }
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(AtomicFile, KeepsTheOldContentUntilCommit) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new");
    EXPECT_EQ(read_file(folder / "a"), "old");
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  write_file_atomically(folder / "a", "new");
  EXPECT_EQ(read_file(folder / "a"), "new");
}

TEST(AtomicFile, NamesAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  expect_error([&] { AtomicFile(folder / "no/a"); }, ErrorKind::io, {"no/a", "No such file"});
}

TEST(AtomicFile, RenamesAFolderAsAWhole) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "step.tmp");
  write_file_atomically(folder / "step.tmp/a", "text");
  rename_durably(folder / "step.tmp", folder / "step");
  EXPECT_EQ(read_file(folder / "step/a"), "text");
  EXPECT_FALSE(std::filesystem::exists(folder / "step.tmp"));
}

TEST(WriteAll, SaysThatTheDiskIsFull) {
  const FileDescriptor full(open("/dev/full", O_WRONLY));
  expect_error([&] { write_all(full.get(), "text", 4, "shard-00000.h5"); }, ErrorKind::io,
               {"shard-00000.h5", "No space left on device", "free some space"});
}

}  // namespace
}  // namespace weft
