// tests/data/regular_file_test.cpp: what is no file of data is refused, without waiting for it.
#include "data/regular_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

TEST(RegularFile, IsOpenedThroughALink) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "text");
  std::filesystem::create_symlink("file", folder / "link");
  EXPECT_TRUE(open_regular_file(folder / "link"));
}

TEST(RegularFile, IsNoPipeFolderOrDevice) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0666), 0);
  std::filesystem::create_symlink("/dev/zero", folder / "zero");
  for (const std::string& path : {folder / "pipe", folder / "zero", folder.path()})
    expect_error([&] { open_regular_file(path); }, ErrorKind::data, {path, "is not a regular file"});
}

TEST(RegularFile, IsNotALinkToItself) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder / "loop");
  expect_error([&] { open_regular_file(folder / "loop"); }, ErrorKind::data, {"cannot open", folder / "loop"});
}

}  // namespace
}  // namespace weft::testing
