// tests/data/atomic_file_test.cpp: files appear complete or not at all.
#include "data/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "tests/data/pack_fixture.h"

namespace weft {
namespace {

std::function<void()> before_lock;  // what another process does before the next lock

}  // namespace
}  // namespace weft

extern "C" int flock(int file, int operation) noexcept {  // instead of the C library's
  if (const auto act = std::exchange(weft::before_lock, nullptr)) act();
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

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

TEST(ReplaceFolder, PutsAFolderInThePlaceOfAnother) {
  const TemporaryFolder folder;
  for (const char* text : {"first", "second"}) {
    std::filesystem::create_directory(folder / "new");
    write_file_atomically(folder / "new/file", text);
    write_file_atomically(folder / "new/only-in-" + text, "");
    replace_folder(folder / "new", folder / "here");
    EXPECT_EQ(read_file(folder / "here/file"), text);
    EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "here/only-in-first"));
}

// Whoever opens a file in the folder finds one, at any moment.
TEST(ReplaceFolder, LeavesNoMomentWithoutAFolder) {
  const TemporaryFolder folder;
  const std::string here = folder / "here";
  std::filesystem::create_directory(here);
  write_file_atomically(here + "/file", "");
  std::atomic<bool> over{false};
  size_t missing = 0;
  std::thread reader([&] {
    while (!over) missing += std::filesystem::exists(here) ? 0 : 1;
  });
  for (int i = 0; i < 20; ++i) {
    std::filesystem::create_directory(folder / "new");
    replace_folder(folder / "new", here);
  }
  over = true;
  reader.join();
  EXPECT_EQ(missing, 0u);
}

TEST(AtomicFile, RefusesANameThatIsNoPlainFilesAndLeavesItAlone) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  write_file_atomically(folder / "target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  std::filesystem::create_symlink("none", folder / "dangling");
  std::filesystem::create_directory(folder / "folder");
  const std::vector<std::string> before = names_in(folder.path());
  for (const auto& [name, reason] : {std::pair{"pipe", "is a device or a pipe"},
                                     {"link", "is a symbolic link"},
                                     {"dangling", "is a symbolic link"},
                                     {"folder", "is a folder"},
                                     {"folder/", "names no file"}})
    expect_error([&] { write_file_atomically(folder / name, "new"); }, ErrorKind::usage, {folder / name, reason});
  expect_error([&] { AtomicFile(""); }, ErrorKind::usage, {"names no file"});
  EXPECT_EQ(names_in(folder.path()), before);
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target"), "old");
}

TEST(PrepareOutput, LeavesAnOldFileAndMakesNoNewOne) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "old", "text");
  prepare_output(folder / "old");
  prepare_output(folder / "new");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"old"});
  EXPECT_EQ(read_file(folder / "old"), "text");
  expect_error([&] { prepare_output(folder / "no/a"); }, ErrorKind::io, {"no/a", "No such file"});
}

TEST(PrepareOutput, RemovesWhatProcessesLeftThatAreGoneAndNothingElse) {
  const TemporaryFolder folder;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  for (const std::string& name : {fmt::format("a.tmp-{}", gone), fmt::format("b.tmp-{}", gone),
                                  fmt::format("a.tmp-{}x", gone), std::string("a.tmp-")})
    std::ofstream(folder / name) << "half";
  prepare_output(folder / "a");
  std::vector<std::string> kept{fmt::format("b.tmp-{}", gone), fmt::format("a.tmp-{}x", gone), "a.tmp-"};
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(names_in(folder.path()), kept);
}

TEST(AtomicFile, RemovesWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  const std::string left = fmt::format("{}.tmp-{}", folder / "a", gone);
  std::ofstream(left) << "half";
  {
    const FileDescriptor in_use(open(left.c_str(), O_RDONLY));  // as by a writer on another host
    ASSERT_EQ(flock(in_use.get(), LOCK_EX), 0);
    write_file_atomically(folder / "a", "whole");
    EXPECT_EQ(names_in(folder.path()).size(), 2u);
  }
  write_file_atomically(folder / "a", "whole");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
}

TEST(TemporaryName, IsRemovedIfOnlyItsNumberIsThatOfALivingProcess) {
  const TemporaryFolder folder;
  const std::string left = fmt::format("a.tmp-{}", getppid());  // as of a writer in a container that has ended
  std::ofstream(folder / left) << "half";
  std::filesystem::create_directories(folder / fmt::format("b.tmp-{}/inside", getppid()));
  write_file_atomically(folder / "a", "whole");
  remove_left_behind(folder / "b");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
}

TEST(TemporaryName, OfALinkGoesByTheNumberOfItsProcess) {
  const TemporaryFolder folder;
  const std::string link = fmt::format("a.tmp-{}", getppid());  // a link cannot be locked
  std::filesystem::create_symlink("target", folder / link);
  remove_left_behind(folder / "a");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{link});
}

TEST(TemporaryName, IsMadeAgainIfAnotherProcessRemovedItBeforeItWasLocked) {
  const TemporaryFolder folder;
  const std::string file = temporary_name(folder / "a"), other = temporary_name(folder / "b");
  before_lock = [&] { std::filesystem::remove(file); };
  const AtomicFile writer(folder / "a");
  EXPECT_TRUE(std::filesystem::exists(file));
  before_lock = [&] { std::filesystem::remove(other); };
  const FileDescriptor lock = make_temporary_folder(other);
  EXPECT_TRUE(std::filesystem::exists(other));
  remove_left_behind(folder / "a"), remove_left_behind(folder / "b");
  EXPECT_EQ(names_in(folder.path()).size(), 2u) << "both are locked";
}

TEST(WriteAll, SaysThatTheDiskIsFull) {
  const FileDescriptor full(open("/dev/full", O_WRONLY));
  expect_error([&] { write_all(full.get(), "text", 4, "shard-00000.h5"); }, ErrorKind::io,
               {"shard-00000.h5", "No space left on device", "free some space"});
}

}  // namespace
}  // namespace weft
