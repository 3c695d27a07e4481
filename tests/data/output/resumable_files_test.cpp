// tests/data/output/resumable_files_test.cpp: jobs that are killed, continued and refused, and packed output.
#include "data/output/resumable_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "data/atomic_file.h"
#include "data/output/packed_copy.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

class ResumableFilesTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "out") const { return folder_ / name; }
  std::vector<std::string> both() const { return {path(), path("links")}; }

  const TemporaryFolder folder_;
  const ResumableFiles::Job job_{{"--beam", "5"}};
};

TEST_F(ResumableFilesTest, AppearWhenTheJobIsComplete) {
  ResumableFiles files(both(), job_);
  files.write(0, "one\n");
  files.write(1, "0-0\n");
  files.commit(1, "digest");
  EXPECT_FALSE(fs::exists(path()));
  files.finish();
  EXPECT_EQ(read_file(path()), "one\n");
  EXPECT_EQ(read_file(path("links")), "0-0\n");
  EXPECT_FALSE(fs::exists(path("out.part")));
  EXPECT_FALSE(fs::exists(path("out.part.json")));
  expect_error([&] { ResumableFiles(both(), job_); }, ErrorKind::usage, {"exists: remove it"});
}

TEST_F(ResumableFilesTest, ContinueAfterTheLastCommittedLine) {
  {
    ResumableFiles files(both(), job_);
    EXPECT_EQ(files.num_lines(), 0);
    files.write(0, "one\n");
    files.write(1, "0-0\n");
    files.commit(1, "digest");
    files.write(0, std::string(2 << 20, 'x'));  // reaches the file, but no commit
    EXPECT_GT(fs::file_size(path("out.part")), 4u);
  }
  ResumableFiles files(both(), job_);
  EXPECT_EQ(files.num_lines(), 1);
  EXPECT_EQ(files.input_digest(), "digest");
  files.write(0, "two\n");
  files.commit(2, "other");
  files.finish();
  EXPECT_EQ(read_file(path()), "one\ntwo\n");
  EXPECT_EQ(read_file(path("links")), "0-0\n");
}

TEST_F(ResumableFilesTest, BeginAnewWithoutTheirState) {
  {
    ResumableFiles files({path()}, job_);
    files.write(0, "of an earlier job\n");
    files.commit(1, "digest");
  }
  fs::remove(path("out.part.json"));
  ResumableFiles files({path()}, job_);
  EXPECT_EQ(files.num_lines(), 0);
  files.write(0, "new\n");
  files.commit(1, "digest");
  files.finish();
  EXPECT_EQ(read_file(path()), "new\n");
}

TEST_F(ResumableFilesTest, GetTheirNamesAfterAKillBetweenTwoNames) {
  for (const bool first_has_its_name : {false, true}) {
    {
      ResumableFiles files(both(), job_);
      files.write(0, "one\n");
      files.commit(1, "digest");
    }
    std::string state = read_file(path("out.part.json"));
    state.replace(state.find("\"complete\": false"), 17, "\"complete\": true ");
    write_file_atomically(path("out.part.json"), state);
    if (first_has_its_name) fs::rename(path("out.part"), path());
    EXPECT_TRUE(ResumableFiles(both(), job_).is_complete());
    EXPECT_EQ(read_file(path()), "one\n");
    EXPECT_EQ(read_file(path("links")), "");
    EXPECT_FALSE(fs::exists(path("out.part.json")));
    for (const std::string& file : both()) fs::remove(file);
  }
}

TEST_F(ResumableFilesTest, RefuseOtherOptionsAndOtherProcesses) {
  ResumableFiles files({path()}, job_);
  files.commit(0, "");
  expect_error([&] { ResumableFiles({path()}, job_); }, ErrorKind::io, {"another process writes"});
  expect_error(
      [&] {
        ResumableFiles({path()}, {{"--beam", "4"}});
      },
      ErrorKind::usage, {"was begun with --beam = '5', but now it is '4': give the same options, or remove"});
}

TEST_F(ResumableFilesTest, RefuseDamagedState) {
  { ResumableFiles({path()}, job_).commit(0, ""); }
  const std::string state = read_file(path("out.part.json"));
  write_file_atomically(path("out.part.json"), "{\"job\": {\"--beam\": \"5\"}}");
  expect_error([&] { ResumableFiles({path()}, job_); }, ErrorKind::data, {"lacks a valid 'lines'"});
  std::string longer = state;
  longer.replace(longer.find("\"bytes\": [\n    0"), 16, "\"bytes\": [\n    9");
  write_file_atomically(path("out.part.json"), longer);
  expect_error([&] { ResumableFiles({path()}, job_); }, ErrorKind::data, {"out.part is shorter than"});
}

TEST_F(ResumableFilesTest, ArePackedAsTheirNamesSay) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += fmt::format("line {}\n", i * 7919 % 100'003);
  for (const char* name : {"out.gz", "out.zst", "out.xz"}) {
    ResumableFiles files({path(name)}, job_);
    files.write(0, text);
    files.commit(200'000, "");
    files.finish();
    const std::string packed = read_file(path(name));
    EXPECT_EQ(compression_of(packed), compression_for(name));
    EXPECT_LT(packed.size(), text.size() / 2);
    EXPECT_EQ(unpacked(packed, name), text) << name;
    EXPECT_FALSE(fs::exists(path(name) + ".part"));
  }
}

}  // namespace
}  // namespace weft
