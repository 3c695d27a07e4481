// tests/trainer/report/log_follower_test.cpp: a log that grows, and one that a resumed run cuts.
#include "trainer/report/log_follower.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

class Follower {
 public:
  std::string path() const { return folder_ / "log.jsonl"; }
  std::string steps() {  // that it knows after an update, "!" where it began anew
    follower_.update([&] { seen_ = "!"; }, [&](const nlohmann::json& r) { seen_ += r.at("step").dump() + " "; });
    return seen_;
  }
  void append(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }

 private:
  TemporaryFolder folder_;
  LogFollower follower_{path()};
  std::string seen_;
};

TEST(LogFollower, ReadsWhatIsNewAndWaitsForTheEndOfALine) {
  Follower f;
  EXPECT_EQ(f.steps(), "");
  f.append("{\"step\":1}\n{\"step\":");
  EXPECT_EQ(f.steps(), "1 ");
  f.append("2}\n");
  EXPECT_EQ(f.steps(), "1 2 ");
  EXPECT_EQ(f.steps(), "1 2 ");
}

TEST(LogFollower, ReadsALogAgainThatWasCut) {
  Follower f;
  f.append("{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
  EXPECT_EQ(f.steps(), "1 2 3 ");
  std::filesystem::resize_file(f.path(), 11);
  f.append("{\"step\":7}\n{\"step\":8}\n{\"step\":9}\n");
  EXPECT_EQ(f.steps(), "!1 7 8 9 ");
}

TEST(LogFollower, ForgetsALogThatIsGone) {
  Follower f;
  f.append("{\"step\":1}\n");
  EXPECT_EQ(f.steps(), "1 ");
  std::filesystem::remove(f.path());
  EXPECT_EQ(f.steps(), "!");
}

TEST(LogFollower, RefusesRecordsOfALaterSchema) {
  Follower f;
  f.append("{\"step\":0,\"schema\":2}\n");
  EXPECT_EQ(f.steps(), "0 ");
  f.append("{\"step\":5,\"schema\":3}\n");
  expect_error([&] { f.steps(); }, ErrorKind::data, {f.path() + ":2: written by a later version of weft", "schema 3"});
}

TEST(LogFollower, NamesADamagedLineAlsoInALogThatWasCut) {
  Follower f;
  f.append("{\"step\":1}\n{\"step\":2}\n");
  EXPECT_EQ(f.steps(), "1 2 ");
  std::filesystem::resize_file(f.path(), 11);
  f.append("nothing\n{\"step\":2}\n");
  expect_error([&] { f.steps(); }, ErrorKind::data, {f.path() + ":2: the record is not valid JSON"});
}

TEST(LogFollower, NamesALineThatIsNestedTooDeeply) {
  Follower f;
  const std::string deep(100000, '[');
  f.append("{\"step\":1}\n{\"step\":2,\"loss\":" + deep + std::string(deep.size(), ']') + "}\n");
  expect_error([&] { f.steps(); }, ErrorKind::data, {f.path() + ":2: the record: the JSON is nested too deeply"});
}

TEST(LogFollower, RefusesAPipeWithoutReadingIt) {
  Follower f;
  ASSERT_EQ(mkfifo(f.path().c_str(), 0600), 0);
  expect_error([&] { f.steps(); }, ErrorKind::io, {f.path() + " is not a regular file"});
}

}  // namespace
}  // namespace weft::testing
