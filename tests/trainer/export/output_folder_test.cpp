// tests/trainer/export/output_folder_test.cpp: what an export may replace, and what it leaves when it fails.
#include "trainer/export/output_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

class OutputFolderTest : public ::testing::Test {
 protected:
  void export_to(const std::string& path, bool force = false, const std::string& content = "new") {
    OutputFolder output(path, force);
    output.write("model.bin", content);
    EXPECT_EQ(output.commit().at("model.bin"), content.size());
  }
  size_t entries() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), {})); }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "model";
};

TEST_F(OutputFolderTest, AppearsWholeWithItsParents) {
  export_to(folder_ / "a/b/model/");
  EXPECT_EQ(read_file(folder_ / "a/b/model/model.bin"), "new");
}

TEST_F(OutputFolderTest, LeavesNothingWithoutCommit) {
  { OutputFolder(folder_ / "a/b", false).write("model.bin", "half"); }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(OutputFolderTest, TakesAnEmptyFolder) {
  fs::create_directory(path_);
  export_to(path_);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFolderTest, ReplacesAnExportOnlyWhenForced) {
  export_to(path_, false, "old");
  expect_error([&] { export_to(path_); }, ErrorKind::usage, {"--output", "already exists", "--force"});
  EXPECT_EQ(read_file(path_ + "/model.bin"), "old");
  export_to(path_, true);
  EXPECT_EQ(read_file(path_ + "/model.bin"), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFolderTest, NeverReplacesWhatNoExportWrites) {
  export_to(path_, false, "old");
  write_file_atomically(path_ + "/thesis.txt", "mine");
  expect_error([&] { export_to(path_, true); }, ErrorKind::usage, {"contains thesis.txt, which is not from an export"});
  fs::remove(path_ + "/thesis.txt");
  fs::create_directory(path_ + "/config.json");
  expect_error([&] { export_to(path_, true); }, ErrorKind::usage, {"contains config.json"});
  EXPECT_EQ(read_file(path_ + "/model.bin"), "old");
}

TEST_F(OutputFolderTest, ReplacesWhatPythonCachedOfTheModule) {
  export_to(path_, false, "old");
  fs::create_directory(path_ + "/__pycache__");
  write_file_atomically(path_ + "/__pycache__/weft_transformer.pyc", "");
  export_to(path_, true);
  EXPECT_EQ(read_file(path_ + "/model.bin"), "new");
  EXPECT_FALSE(fs::exists(path_ + "/__pycache__"));
  write_file_atomically(path_ + "/__pycache__", "a file");
  expect_error([&] { export_to(path_, true); }, ErrorKind::usage, {"contains __pycache__"});
}

TEST_F(OutputFolderTest, RefusesAFileAndALink) {
  write_file_atomically(path_, "a file");
  expect_error([&] { export_to(path_, true); }, ErrorKind::usage, {"exists and is not a folder"});
  EXPECT_EQ(read_file(path_), "a file");
  fs::remove(path_);
  fs::create_directory_symlink(folder_.path(), path_);
  expect_error([&] { export_to(path_, true); }, ErrorKind::usage, {"exists and is not a folder"});
}

TEST_F(OutputFolderTest, LeavesNoParentOfANameThatIsTooLong) {
  const std::string path = folder_ / "n/" + std::string(300, 'o');
  EXPECT_THROW(OutputFolder(path, /*force=*/false), fs::filesystem_error);  // for which main() names the option
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace weft::testing
