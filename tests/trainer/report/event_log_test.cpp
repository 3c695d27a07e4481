// tests/trainer/report/event_log_test.cpp: JSON lines that survive a kill and a resume.
#include "trainer/report/event_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/errors.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/report/read_event_log.h"

namespace weft {
namespace {

class EventLogTest : public ::testing::Test {
 protected:
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(path_).rdbuf();
    return out.str();
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "log.jsonl";
};

TEST_F(EventLogTest, WritesOneObjectALineInTheOrderOfItsKeys) {
  EventLog log(path_, 0);
  log.write({{"step", 1}, {"loss", 2.5}});
  log.write({{"step", 1}, {"bleu", 30}});
  EXPECT_EQ(text(), "{\"step\":1,\"loss\":2.5}\n{\"step\":1,\"bleu\":30}\n");
}

TEST_F(EventLogTest, ReadsBackTheSameDoubles) {
  const std::vector<double> values = {0.1, 1.0 / 3, 6.02214076e23, 5e-324, -0.0, std::numeric_limits<double>::max()};
  {
    EventLog log(path_, 0);
    for (const double value : values) log.write({{"step", 1}, {"loss", value}});
  }
  const auto records = read_event_log(path_);
  ASSERT_EQ(records.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(records[i].at("loss").get<double>(), values[i]);
}

TEST_F(EventLogTest, WritesNullForWhatIsNotFinite) {
  EventLog log(path_, 0);
  log.write({{"step", 1}, {"grad_norm", std::numeric_limits<double>::infinity()}});
  EXPECT_TRUE(read_event_log(path_).at(0).at("grad_norm").is_null());
}

TEST_F(EventLogTest, RefusesARecordWithoutANumberOfItsStep) {
  for (const char* step : {"\"x\"", "5e27", "1.5", "null"}) {
    std::filesystem::remove(path_);
    append(std::string("{\"step\":") + step + "}\n");
    testing::expect_error([&] { EventLog log(path_, 5); }, ErrorKind::data, {"not a record of a step"});
  }
}

TEST_F(EventLogTest, IsNotWrittenThroughALink) {
  const std::filesystem::path other = path_.string() + ".other";
  std::ofstream(other) << "of somebody else\n";
  std::filesystem::create_symlink(other, path_);
  EXPECT_THROW(EventLog(path_, 0), Error);
  EXPECT_EQ(std::filesystem::file_size(other), 17u);
}

TEST_F(EventLogTest, CutsOffStepsThatWillBeDoneAgain) {
  {
    EventLog log(path_, 0);
    for (int step = 1; step <= 9; ++step) log.write({{"step", step}});
  }
  EventLog log(path_, 5);
  log.write({{"step", 6}, {"again", true}});
  const auto records = read_event_log(path_);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[4].at("step"), 5);
  EXPECT_TRUE(records[5].contains("again"));
}

TEST_F(EventLogTest, CutsOffScoresThatAreDueAgain) {
  {
    EventLog log(path_, 0);
    for (int step = 1; step <= 4; ++step) log.write({{"step", step}, {"loss", 1}});
    log.write({{"step", 2}, {"score", 1}});
    log.write({{"step", 4}, {"valid_loss", 1}});
    log.write({{"step", 3}, {"no_score", "exit status 1"}});
    log.write({{"step", 4}, {"score", 1}});
  }
  EventLog(path_, 4, false, {3, 4});
  EXPECT_EQ(read_event_log(path_).size(), 6u);
  EventLog(path_, 4, false, {4});
  EXPECT_EQ(read_event_log(path_).size(), 6u);
}

TEST_F(EventLogTest, VisitsScoresInTheirValidations) {
  append(
      "{\"step\":1,\"loss\":2}\n{\"step\":1,\"valid_loss\":3}\n{\"step\":2,\"valid_loss\":4}\n"
      "{\"step\":1,\"score\":0.5,\"news.score\":0.25,\"time\":7}\n{\"score\":9}\n");
  std::vector<nlohmann::json> log;
  for_each_scored_record(path_, [&](nlohmann::json&& record) { log.push_back(std::move(record)); });
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[1], (nlohmann::json{{"step", 1}, {"valid_loss", 3}, {"score", 0.5}, {"news.score", 0.25}}));
  EXPECT_EQ(log[2].size(), 2u);
}

TEST_F(EventLogTest, RemovesALineThatWasNotFinished) {
  append("{\"step\":1}\n{\"step\":2,\"lo");
  EXPECT_EQ(read_event_log(path_).size(), 1u);
  EventLog log(path_, 100);
  log.write({{"step", 2}});
  EXPECT_EQ(text(), "{\"step\":1}\n{\"step\":2}\n");
}

TEST_F(EventLogTest, NamesADamagedLine) {
  append("{\"step\":1}\n{\"step\"\n{\"step\":3}\n");
  testing::expect_error([&] { read_event_log(path_); }, ErrorKind::data, {path_.string() + ":2: "});
}

TEST_F(EventLogTest, NamesALineThatIsTooLongOrNestedTooDeeply) {
  const std::string open(100000, '['), close(100000, ']');
  append("{\"step\":1}\n{\"step\":2,\"loss\":" + open + close + "}\n");
  for (const auto& read : {+[](const std::string& path) { read_event_log(path); },
                           +[](const std::string& path) { EventLog log(path, 5); }})
    testing::expect_error([&] { read(path_); }, ErrorKind::data, {path_.string() + ":2: ", "nested too deeply"});
  std::filesystem::resize_file(path_, 11);
  append("{\"step\":2");  // and then null characters, without a line end
  std::filesystem::resize_file(path_, 2 * kMaxLogLine);
  testing::expect_error([&] { read_event_log(path_); }, ErrorKind::data,
                        {path_.string() + ":2: ", "longer than 64 MiB"});
}

TEST_F(EventLogTest, ReadsALineThatIsLongerThanABuffer) {
  for (const size_t length : {16'383, 16'384, 16'385, 100'000}) {
    std::filesystem::remove(path_);
    append("{\"step\":1}\n{\"text\":\"" + std::string(length - 11, 'x') + "\"}\n{\"step\":3}\n");
    EXPECT_EQ(read_event_log(path_).size(), 3u) << length;
    EXPECT_EQ(read_event_log(path_).at(1).at("text").get<std::string>().size(), length - 11);
  }
}

TEST_F(EventLogTest, RefusesRecordsOfALaterSchema) {
  append("{\"step\":0,\"schema\":2}\n{\"step\":1}\n");
  EXPECT_EQ(read_event_log(path_).size(), 2u);
  append("{\"step\":1,\"schema\":3}\n");
  testing::expect_error([&] { read_event_log(path_); }, ErrorKind::data, {path_.string() + ":3: ", "schema 3"});
}

TEST_F(EventLogTest, WritesAKeptRecordWithTheNext) {
  EventLog log(path_, 0);
  log.keep({{"step", 0}, {"schema", 2}});
  EXPECT_EQ(text(), "");
  log.write({{"step", 1}});
  EXPECT_EQ(text(), "{\"step\":0,\"schema\":2}\n{\"step\":1}\n");
}

TEST_F(EventLogTest, ReplacesBytesThatAreNoCharacter) {
  EventLog log(path_, 0);
  log.write({{"step", 1}, {"text", "a\xff"}});
  EXPECT_EQ(read_event_log(path_).at(0).at("text"), "a\xef\xbf\xbd");
}

TEST_F(EventLogTest, SaysWhenTheFileCannotBeOpened) {
  EXPECT_THROW(read_event_log(path_ / "missing"), Error);
  EXPECT_THROW(EventLog(path_ / "missing", 0), Error);
}

TEST_F(EventLogTest, KeepsRecordsWhileTheDiskIsFullAndWritesThemLater) {
  EventLog log(path_, 0);
  {
    const testing::FileSizeLimit full(10);
    EXPECT_FALSE(log.write({{"step", 1000000}, {"loss", 2.5}}));
    EXPECT_FALSE(log.write({{"step", 1000001}, {"loss", 2.5}}));
    EXPECT_THROW(log.flush(), Error);
  }
  EXPECT_TRUE(read_event_log(path_).empty()) << "what was half written counts as not written";
  log.flush();
  EXPECT_EQ(read_event_log(path_).size(), 2u);
}

}  // namespace
}  // namespace weft
